"""The three servers at once in whole runs over each wire: every tool called through the loop, pictures sent as pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import geode
from geode.domain.content import Image
from geode.domain.script import calls, says
from geode.entrypoints.emulator import Emulator, running
from geode.ports.events import ToolFinished
from tests.real.test_mcp_servers import EVERYTHING, FILESYSTEM, MEMORY, PNG, Program, server

# Where a request of each wire has the bytes of a picture, and what stands in front of them there.
PICTURE = {
    "messages": '"type":"base64","media_type":"image/png","data":"',
    "responses": '"image_url":"data:image/png;base64,',
    "chat": '"url":"data:image/png;base64,',
}


def sessions_tools(npm_program: Program, folder: Path) -> list[Any]:
    (folder / "a.txt").write_text("first line\nsecond line\n")
    (folder / "b.txt").write_text("other file\n")
    (folder / "a.png").write_bytes(PNG)
    everything = server(npm_program("mcp-server-everything"), "stdio", trusted=True, deferred=False)
    command, *arguments = server(npm_program("mcp-server-filesystem"), str(folder)).command
    files = geode.McpServer("files", command=[command, *arguments], cwd=str(folder), deferred=False)
    memory = geode.McpServer(
        "memory",
        command=server(npm_program("mcp-server-memory")).command,
        env={"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
        deferred=False,
    )
    return [everything, files, memory]


async def allow(call: geode.ToolUseBlock) -> geode.Approve:
    return geode.Approve()


@pytest.mark.parametrize("wire", ["messages", "responses", "chat"])
async def test_every_tool_is_called_through_the_loop(wire: Any, npm_program: Program, tmp_path: Path) -> None:
    """One after the other, since what follows looks at what came before."""
    wanted = [*EVERYTHING, *FILESYSTEM, *MEMORY]
    script = [*(calls((name, dict(arguments))) for name, arguments, _ in wanted), says("All of them.")]
    finished: list[ToolFinished] = []

    def observe(event: Any) -> None:
        if isinstance(event, ToolFinished):
            finished.append(event)

    async with running(Emulator(script)) as found:
        lab = geode.Provider("lab", wire=wire, base_url=f"{found.base_url}{'' if wire == 'messages' else '/v1'}")
        outcome = await geode.run(
            "Try everything",
            model="lab/m",
            providers=[lab],
            tools=sessions_tools(npm_program, tmp_path),
            approve=allow,
            observe=observe,
            policy=geode.Policy(max_rounds=60),
        )
        sent = [json.dumps(one.request, separators=(",", ":")) for one in found.emulator.received]
    assert (type(outcome), outcome.text) == (geode.Answered, "All of them."), outcome
    got = [(event.call.name, event.result.kind) for event in finished]
    assert got == [(name, "ok") for name, *_ in wanted]
    assert [name for (name, _, text), event in zip(wanted, finished, strict=True) if text not in event.result.text] == []
    pictures = [event.call.name for event in finished if any(isinstance(part, Image) for part in event.result.content)]
    assert pictures == ["get-tiny-image", "read_media_file"]
    assert sent[-1].count(PICTURE[wire]) == 2
    assert len(found.emulator.received) == len(wanted) + 1
