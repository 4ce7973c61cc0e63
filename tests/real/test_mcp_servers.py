"""Other people's servers of the Model Context Protocol: each of their tools is found, and called once."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from geode import McpServer, SafetyTier
from geode.adapters.mcp.source import McpSource
from geode.domain.content import Image, Part, Text
from geode.domain.results import render
from geode.ports.tool_sources import Listing
from geode.ports.tools import ToolContext, ToolError

Program = Callable[[str], Path]
Calls = tuple[tuple[str, Mapping[str, Any], str], ...]

# Each tool in the order in which the server lists it, arguments, and what the answer has in it.
EVERYTHING: Final[Calls] = (
    ("echo", {"message": "hello from far"}, "hello from far"),
    ("get-annotated-message", {"messageType": "success"}, "success"),
    ("get-env", {}, "PATH"),
    ("get-resource-links", {"count": 2}, "[a link: "),
    ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}, "[a resource: demo://resource/dynamic/text/1"),
    ("get-structured-content", {"location": "Chicago"}, "temperature"),
    ("get-sum", {"a": 2, "b": 3}, "5"),
    ("get-tiny-image", {}, "image"),
    ("gzip-file-as-resource", {"name": "a.gz", "data": "data:text/plain;base64,aGVsbG8=", "outputType": "resource"}, "a.gz"),
    ("toggle-simulated-logging", {}, "logging"),
    ("toggle-subscriber-updates", {}, "updates"),
    ("trigger-long-running-operation", {"duration": 0.2, "steps": 2}, "completed"),
)
FILESYSTEM: Final[Calls] = (
    ("read_file", {"path": "a.txt"}, "first line"),
    ("read_text_file", {"path": "a.txt", "head": 1}, "first line"),
    ("read_media_file", {"path": "a.png"}, ""),
    ("read_multiple_files", {"paths": ["a.txt", "b.txt"]}, "other file"),
    ("write_file", {"path": "new.txt", "content": "fresh"}, "new.txt"),
    ("edit_file", {"path": "b.txt", "edits": [{"oldText": "other", "newText": "changed"}]}, "+changed file"),
    ("create_directory", {"path": "folder"}, "folder"),
    ("list_directory", {"path": "."}, "[FILE] a.txt"),
    ("list_directory_with_sizes", {"path": "."}, "a.txt"),
    ("directory_tree", {"path": "."}, '"a.txt"'),
    ("move_file", {"source": "new.txt", "destination": "moved.txt"}, "moved.txt"),
    ("search_files", {"path": ".", "pattern": "*.png"}, "a.png"),
    ("get_file_info", {"path": "a.txt"}, "size: "),
    ("list_allowed_directories", {}, "Allowed directories"),
)
_ADA: Final = {"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}
_KNOWS: Final = {"from": "Ada", "to": "Charles", "relationType": "knows"}
MEMORY: Final[Calls] = (
    ("create_entities", {"entities": [_ADA, {**_ADA, "name": "Charles"}]}, "Ada"),
    ("create_relations", {"relations": [_KNOWS]}, "knows"),
    ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["lived in London"]}]}, "lived in London"),
    ("read_graph", {}, "lived in London"),
    ("search_nodes", {"query": "london"}, "Ada"),
    ("open_nodes", {"names": ["Charles"]}, "Charles"),
    ("delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["wrote programs"]}]}, "deleted"),
    ("delete_relations", {"relations": [_KNOWS]}, "deleted"),
    ("delete_entities", {"entityNames": ["Ada"]}, "deleted"),
)
MEMORY_NAMES: Final = (
    *("create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations"),
    *("delete_relations", "read_graph", "search_nodes", "open_nodes"),
)
PNG: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6364f8cf500f000e"
    "0181005a346f5b0000000049454e44ae426082"
)


def server(program: Path, *arguments: str, **settings: Any) -> McpServer:
    return McpServer("real", command=[shutil.which("node") or "node", str(program), *arguments], **settings)


@asynccontextmanager
async def listed(declared: McpServer) -> AsyncIterator[Listing]:
    async with McpSource(declared).opened() as opened:
        yield await opened.listing()


async def parts(listing: Listing, name: str, arguments: Mapping[str, Any], heard: list[str] | None = None) -> tuple[Part, ...]:
    tool = next(tool for tool in listing.tools if tool.spec.name == name)
    told = [] if heard is None else heard
    return render(await tool.invoke(arguments, ToolContext(None, "call_1", "run/call_1", 60.0, progress=told.append)))


async def all_called(listing: Listing, calls: Calls) -> dict[str, tuple[Part, ...]]:
    """The results by the name of the tool, none of them without what was expected in it."""
    results = {name: await parts(listing, name, arguments) for name, arguments, _ in calls}
    texts = {name: "\n".join(part.text for part in found if isinstance(part, Text)) for name, found in results.items()}
    assert {name: texts[name] for name, _, wanted in calls if wanted not in texts[name]} == {}
    return results


async def test_every_tool_of_server_everything(npm_program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live-never-seen")
    async with listed(server(npm_program("mcp-server-everything"), "stdio", trusted=True)) as listing:
        assert [tool.spec.name for tool in listing.tools] == [*(name for name, *_ in EVERYTHING), "simulate-research-query"]
        assert listing.left_out == ()
        results = await all_called(listing, EVERYTHING)
        heard: list[str] = []
        await parts(listing, "trigger-long-running-operation", {"duration": 0.2, "steps": 2}, heard)
    assert [type(part) for part in results["get-tiny-image"]] == [Text, Image, Text]
    assert "sk-live-never-seen" not in str(results["get-env"])
    assert heard[-1].startswith("2 of 2")
    tiers = {tool.spec.name: tool.tier for tool in listing.tools}
    assert tiers["echo"] is SafetyTier.MCP_TRUSTED
    assert tiers["toggle-simulated-logging"] is SafetyTier.WRITE


async def test_what_server_everything_refuses_is_a_failure(npm_program: Program) -> None:
    async with listed(server(npm_program("mcp-server-everything"), "stdio")) as listing:
        assert {tool.tier for tool in listing.tools} == {SafetyTier.DANGEROUS}
        with pytest.raises(ToolError, match="Invalid arguments for tool get-sum"):
            await parts(listing, "get-sum", {"a": "two"})
        # It runs only as a task of the protocol, which is not offered.
        with pytest.raises(ToolError, match="task"):
            await parts(listing, "simulate-research-query", {"topic": "tides"})


async def test_every_tool_of_server_filesystem(npm_program: Program, tmp_path: Path) -> None:
    folder = tmp_path
    (folder / "a.txt").write_text("first line\nsecond line\n")
    (folder / "b.txt").write_text("other file\n")
    (folder / "a.png").write_bytes(PNG)
    declared = server(npm_program("mcp-server-filesystem"), str(folder), cwd=str(folder), trusted=True)
    async with listed(declared) as listing:
        assert [tool.spec.name for tool in listing.tools] == [name for name, *_ in FILESYSTEM]
        assert listing.left_out == ()
        results = await all_called(listing, FILESYSTEM)
        with pytest.raises(ToolError, match="Access denied"):
            await parts(listing, "read_text_file", {"path": "/etc/hostname"})
    assert Image("image/png", PNG) in results["read_media_file"]
    assert (folder / "moved.txt").read_text() == "fresh"
    assert (folder / "b.txt").read_text() == "changed file\n"
    tiers = {tool.spec.name: tool.tier for tool in listing.tools}
    assert (tiers["read_file"], tiers["write_file"]) == (SafetyTier.MCP_TRUSTED, SafetyTier.DANGEROUS)
    assert tiers["create_directory"] is SafetyTier.WRITE


async def test_every_tool_of_server_memory(npm_program: Program, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    async with listed(server(npm_program("mcp-server-memory"), env={"MEMORY_FILE_PATH": str(file)})) as listing:
        assert tuple(tool.spec.name for tool in listing.tools) == MEMORY_NAMES
        assert listing.left_out == ()
        await all_called(listing, MEMORY)
    assert "Charles" in file.read_text()
    assert "Ada" not in file.read_text()
    assert os.environ.get("MEMORY_FILE_PATH") is None
