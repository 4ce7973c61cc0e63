"""What the contracts have in common: the harness, and tests that run in a project of any asyncio mode."""

from __future__ import annotations

import inspect
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from geode.domain.request import Capabilities
from geode.domain.script import Called, Reply, Step
from geode.entrypoints.compliance.harness import ModelHarness, SendingHarness
from geode.entrypoints.compliance.playing import Playing


class Contract:
    """Inherit a contract, and write `harness = YourHarness`: the class, not an object."""

    harness: ClassVar[type[Any]]

    def __init_subclass__(cls) -> None:
        """Each coroutine is marked by itself: a mark on the class would complain of an author's own plain tests."""
        super().__init_subclass__()
        for name, test in list(vars(cls).items()):
            if name.startswith("test_") and inspect.iscoroutinefunction(test):
                setattr(cls, name, pytest.mark.asyncio(loop_scope="function")(test))


def made(contract: type[Contract], kind: type[Any], *given: Any) -> Any:
    """The harness that a class of tests names, made of what is `given`.

    The test fails, and says what to write, where it names none.
    """
    named: object = getattr(contract, "harness", None)
    if not isinstance(named, type) or not issubclass(named, kind):
        pytest.fail(f"{contract.__name__}.harness must be a class that inherits {kind.__name__}, it is {named!r}")
    return named(*given)


class ModelContract(Contract):
    """For model adapters."""

    @property
    def made(self) -> ModelHarness:
        found: ModelHarness = made(type(self), ModelHarness)
        return found

    @property
    def able(self) -> Capabilities:
        return self.made.capabilities

    @property
    def live(self) -> bool:
        """Whether it streams, and over a connection."""
        return self.made.streams and isinstance(self.made, SendingHarness)

    def playing(self, *script: Step, pace_seconds: float = 0.0) -> AbstractAsyncContextManager[Playing]:
        return self.made.playing(*script, pace_seconds=pace_seconds)

    def reply(self, reply: Reply) -> Reply:
        """As much of `reply` as can reach the adapter."""
        if not self.made.withheld.calls:
            return reply
        return replace(reply, items=tuple(item for item in reply.items if not isinstance(item, Called)))


class SendingContract(ModelContract):
    """For model adapters whose requests can be looked at."""

    @property
    def made(self) -> SendingHarness:
        found: SendingHarness = made(type(self), SendingHarness)
        return found
