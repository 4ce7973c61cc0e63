"""The commands of `docs/wire.md` print what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text("utf-8")
COMMANDS = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_all_three_are_shown() -> None:
    assert [re.findall(r"geode wire (\w+)", command) for command, _ in COMMANDS] == [["check"], ["decode"], ["transcode"]]


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=["check", "decode", "transcode"])
def test_a_command_prints_what_the_page_says(command: str, printed: str, tmp_path: Path) -> None:
    captured = re.search(r"^```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert captured is not None
    (tmp_path / "captured.jsonl").write_text(captured[1], "utf-8")
    program = tmp_path / "geode"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m geode "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == (printed, "")
