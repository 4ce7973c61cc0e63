"""What a harness declares and does not say how to do is told before any test runs with it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

import pytest

from geode.entrypoints.compliance.http_harness import HttpHarness
from geode.entrypoints.compliance.tool_sources import ToolSourceHarness
from geode.ports.tool_sources import ToolSource


class Streams(HttpHarness):
    streams = True


class Changes(ToolSourceHarness):
    changes: ClassVar[bool] = True

    def source(self) -> AbstractAsyncContextManager[ToolSource]:
        raise AssertionError

    def gone(self) -> AbstractAsyncContextManager[ToolSource]:
        raise AssertionError


class SaysHow(Changes):
    async def change(self, source: ToolSource) -> None:
        pass


@pytest.mark.parametrize(
    ("harness", "said"),
    [
        (Streams, "Streams declares streams = True and does not say how: override stream()"),
        (Changes, "Changes declares changes = True and does not say how: override change()"),
    ],
)
def test_what_is_declared_is_said_how(harness: Any, said: str) -> None:
    with pytest.raises(TypeError) as caught:
        harness()
    assert str(caught.value) == said


def test_a_class_between_may_leave_it_to_those_that_inherit_it() -> None:
    assert SaysHow().changes
