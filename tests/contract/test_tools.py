"""Everything that can be a tool keeps the contract of a tool."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import geode
from geode.entrypoints.compliance.tools import ToolContract, ToolHarness
from geode.ports import Tool, ToolSpec


@geode.tool(tier="safe")
def divide(dividend: float, divisor: float) -> float:
    """One number by another."""
    if divisor == 0:
        raise geode.ToolError("the divisor is 0")
    return dividend / divisor


class Function(ToolHarness):
    fails_with: ClassVar[Mapping[str, Any] | None] = {"dividend": 1, "divisor": 0}

    def tool(self) -> object:
        return divide

    def arguments(self) -> Mapping[str, Any]:
        return {"dividend": 1, "divisor": 2}


class Coroutine(Function):
    def tool(self) -> object:
        @geode.tool(tier="expensive", name="divide")
        async def slowly(dividend: float, divisor: float) -> float:
            """One number by another."""
            await asyncio.sleep(0)
            return dividend / divisor

        return slowly


class Method(ToolHarness):
    class Store:
        @geode.tool(tier="write")
        def keep(self, words: list[str]) -> None:
            """Keep words."""
            words.clear()

    def tool(self) -> object:
        return self.Store().keep

    def arguments(self) -> Mapping[str, Any]:
        return {"words": ["a", "b"]}


@dataclass
class Db:
    users: int = 42


class WithDeps(ToolHarness):
    deps: ClassVar[object] = Db()

    def tool(self) -> object:
        @geode.tool(tier="safe")
        def count(ctx: geode.ToolContext[Db]) -> int:
            """How many users there are."""
            return ctx.deps.users

        return count

    def arguments(self) -> Mapping[str, Any]:
        return {}


class Plain(ToolHarness):
    """A Tool value, as a source of tools of others makes it."""

    def tool(self) -> Tool:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        return Tool(ToolSpec("double", "Twice the number.", schema), geode.SafetyTier.SAFE, lambda given, _: given["n"] * 2)

    def arguments(self) -> Mapping[str, Any]:
        return {"n": 4}


class TestFunction(ToolContract):
    harness = Function


class TestCoroutine(ToolContract):
    harness = Coroutine


class TestMethod(ToolContract):
    harness = Method


class TestWithDeps(ToolContract):
    harness = WithDeps


class TestPlain(ToolContract):
    harness = Plain
