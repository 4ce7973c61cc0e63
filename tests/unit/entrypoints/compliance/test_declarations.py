"""What a harness declares and does not say how to do is told where the class is written."""

from __future__ import annotations

from typing import ClassVar

import pytest

from geode.entrypoints.compliance.http_harness import HttpHarness
from geode.entrypoints.compliance.tool_sources import ToolSourceHarness


def test_a_server_that_streams_says_how() -> None:
    with pytest.raises(TypeError, match=r"^Mine declares streams = True and does not say how: override stream\(\)$"):

        class Mine(HttpHarness):  # pyright: ignore[reportUnusedClass]
            streams = True


def test_tools_that_change_say_how() -> None:
    with pytest.raises(TypeError, match=r"^Mine declares changes = True and does not say how: override change\(\)$"):

        class Mine(ToolSourceHarness):  # pyright: ignore[reportUnusedClass]
            changes: ClassVar[bool] = True
