"""Many runs at once, some cancelled, some left: nothing stays behind and every conversation is whole."""

from __future__ import annotations

import sys

import pytest

from tests.unit.entrypoints.crowd import On, crowd


@pytest.mark.skipif(sys.platform != "linux", reason="open files are counted in /proc")
@pytest.mark.parametrize(("on", "count"), [("scripted", 120), ("messages", 60), ("responses", 60), ("chat", 60)])
async def test_a_crowd_leaves_nothing_behind(on: On, count: int) -> None:
    found = await crowd(count, 4, on)
    assert found["wrong"] == []
    assert found["most_at_once"] >= count * 2 // 3
    assert found["cancelled"] >= count // 6
    assert found["left"] >= count // 30
    assert found["answered"] + found["cancelled"] + found["left"] + found["ended_first"] == count
    assert (found["tasks_left"], found["threads_left"], found["files_left"]) == (0, 0, 0)
