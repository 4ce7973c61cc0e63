"""The contract of a tool: `geode.ports.Tool`, or whatever a source of tools gives to `tools=[…]`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar

import geode
from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.adapters.scripted.model import ScriptedModel
from geode.domain.content import ToolResult
from geode.domain.loop.outcome import Answered
from geode.domain.script import Called, calls, says
from geode.domain.turns import AssistantTurn
from geode.entrypoints.approvers import ApproveAll
from geode.entrypoints.compliance.contract import Contract, made
from geode.entrypoints.tools import as_tool
from geode.ports.tools import Tool

# What every provider takes for a name.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ToolHarness(ABC):
    """A tool, and arguments that it takes. `fails_with`: arguments that fit its schema and make it fail, if there are any."""

    deps: ClassVar[object] = None
    fails_with: ClassVar[Mapping[str, Any] | None] = None

    @abstractmethod
    def tool(self) -> object:
        """What its users put into `tools=[…]`."""

    @abstractmethod
    def arguments(self) -> Mapping[str, Any]:
        """Arguments with which it succeeds, as often as it is called."""


class ToolContract(Contract):
    """It is described for any provider, answers every call with something that can be told, and fails without noise."""

    @property
    def made(self) -> ToolHarness:
        found: ToolHarness = made(type(self), ToolHarness)
        return found

    @property
    def bound(self) -> Tool:
        return as_tool(self.made.tool(), self.made.deps)

    async def results(self, *arguments: Mapping[str, Any] | str) -> list[ToolResult]:
        """The results of one round of calls with these arguments."""
        name, tool = self.bound.spec.name, self.made.tool()
        asked = calls(*(Called(name, one) for one in arguments))
        outcome = await geode.run(
            "go", model=ScriptedModel(asked, says("done")), tools=[tool], approve=ApproveAll(), deps=self.made.deps
        )
        assert isinstance(outcome, Answered), outcome
        return list(outcome.conversation.results())

    async def test_it_is_described_for_any_provider(self) -> None:
        spec = self.bound.spec
        assert _NAME.fullmatch(spec.name)
        assert spec.description.strip(), "a model chooses a tool by its description"
        check = JsonschemaValidator().compile(spec.input_schema)
        assert check(self.made.arguments()) == ()

    async def test_it_is_described_the_same_each_time(self) -> None:
        assert self.bound.spec == self.bound.spec

    async def test_a_call_is_answered(self) -> None:
        (result,) = await self.results(self.made.arguments())
        assert (result.kind, bool(result.content)) == ("ok", True), result

    async def test_calls_side_by_side_are_each_answered(self) -> None:
        found = await self.results(*[self.made.arguments()] * 4)
        assert [result.kind for result in found] == ["ok"] * 4

    async def test_arguments_that_do_not_fit_fail_and_say_why(self) -> None:
        for broken in ("{", "[]", '"text"'):
            (result,) = await self.results(broken)
            assert result.kind == "failed"
            assert "arguments" in result.text

    async def test_a_failure_is_a_failed_result(self) -> None:
        """Where there are arguments that make it fail, the model is told, and its siblings are not touched."""
        failing = self.made.fails_with
        asked = [self.made.arguments()] * 2 if failing is None else [failing, self.made.arguments()]
        found = await self.results(*asked)
        assert [result.kind for result in found] == ["ok" if failing is None else "failed", "ok"]
        assert all(result.text.strip() for result in found)

    async def test_its_arguments_are_its_own(self) -> None:
        """What it does to them does not reach the conversation."""
        given = deepcopy(dict(self.made.arguments()))
        asked = calls(Called(self.bound.spec.name, given))
        model = ScriptedModel(asked, says("done"))
        await geode.run("go", model=model, tools=[self.made.tool()], approve=ApproveAll(), deps=self.made.deps)
        asked_turn = model.requests[1].turns[1]
        assert isinstance(asked_turn, AssistantTurn)
        assert [block.input for block in asked_turn.calls] == [self.made.arguments()]
