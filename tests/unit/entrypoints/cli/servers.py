"""A server of the Model Context Protocol, written by hand, and the declarations that start it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PROGRAM = """
import json, os, sys

tools = json.loads(sys.argv[1])
if not isinstance(tools, list):
    raise SystemExit(tools)

def answer(message):
    if message["method"] == "initialize":
        said = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        return {**said, "serverInfo": {"name": "by hand", "version": "1.2"}}
    if message["method"] == "tools/list":
        return {"tools": [{"inputSchema": {"type": "object"}, "description": "From far.", **tool} for tool in tools]}
    told = os.environ.get("TOLD", "nothing")
    return {"content": [{"type": "text", "text": message["params"]["name"] + " with " + told}]}

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}), flush=True)
"""


def command(*tools: Any, fails: str = "") -> list[str]:
    """What starts a server with these tools: their names, or what it says of them; or one that ends at once and says why."""
    said = [{"name": tool} if isinstance(tool, str) else tool for tool in tools]
    return [sys.executable, "-I", "-S", "-c", PROGRAM, json.dumps(fails or said)]


def toml(name: str, words: list[str], more: str = "") -> str:
    """`[mcp.servers.NAME]`"""
    return f"[mcp.servers.{name}]\ncommand = {json.dumps(words)}\n{more}\n"


def others(path: Path, **servers: Any) -> Path:
    """A file as other programs have it, a line for each server."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(said)}" for name, said in servers.items())
    path.write_text(f'{{"mcpServers": {{\n{lines}\n}}}}', "utf-8")
    return path


def of_others(words: list[str], **more: Any) -> dict[str, Any]:
    return {"command": words[0], "args": words[1:], **more}
