"""The tools of a session: name to handler, and the check of their arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from geode.application.searching import deferred_of, search_tool
from geode.domain.approval import Grant
from geode.domain.arguments import argument_error
from geode.domain.content import ToolUseBlock
from geode.domain.naming import closest, first_of
from geode.domain.tool_search import SEARCH, search_problem
from geode.domain.tools import ToolFacts, ToolSpec, schema_digest
from geode.domain.verdicts import Invalid, Unknown, Valid, Verdict
from geode.ports.schema import Check, SchemaValidator
from geode.ports.tools import Tool

# So many names are told one by one; more of them are counted.
_SHOWN: Final = 20


class Checks(Protocol):
    """What knows its tools by name and checks calls of them: a catalogue, or one that changes between rounds."""

    @property
    def tools(self) -> Mapping[str, Tool]: ...

    def check(self, call: ToolUseBlock) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Catalog:
    """An immutable set of tools, of which the model need not be told those that are `deferred`.

    Each schema is compiled once, when its tool is first called.
    """

    tools: Mapping[str, Tool]
    validator: SchemaValidator
    specs: tuple[ToolSpec, ...]
    facts: Mapping[str, ToolFacts]
    deferred: frozenset[str] = frozenset()
    _checks: dict[str, Check] = field(default_factory=dict[str, Check], repr=False, compare=False)

    @staticmethod
    def of(tools: Sequence[Tool], validator: SchemaValidator) -> Catalog:
        """The catalogue of `tools`, whose names are distinct."""
        facts = {tool.spec.name: _facts(tool) for tool in tools}
        return Catalog({tool.spec.name: tool for tool in tools}, validator, tuple(tool.spec for tool in tools), facts)

    def deferring(self, above: int | None) -> Catalog:
        """The catalogue with those of its tools deferred that are to be, and then with the tool that finds them.

        `above` is `Policy.defer_above`.
        """
        tools = tuple(self.tools.values())
        deferred = deferred_of(tools, above)
        if not deferred:
            return self
        found = self.joined(search_tool(tools, deferred))
        facts = {**found.facts, SEARCH: replace(found.facts[SEARCH], forwards=True)}
        return replace(found, facts=facts, deferred=deferred)

    def joined(self, tool: Tool) -> Catalog:
        """The catalogue with one more tool, of a name that it does not have."""
        name = tool.spec.name
        facts = {**self.facts, name: _facts(tool)}
        return replace(self, tools={**self.tools, name: tool}, specs=(*self.specs, tool.spec), facts=facts)

    def only(self, names: Collection[str]) -> Catalog:
        """The catalogue of those of its tools that have these names."""
        wanted = frozenset(names)
        tools = {name: tool for name, tool in self.tools.items() if name in wanted}
        facts = {name: self.facts[name] for name in tools}
        return replace(self, tools=tools, specs=tuple(tool.spec for tool in tools.values()), facts=facts)

    def check(self, call: ToolUseBlock) -> Verdict:
        """Whether the call names a tool and its arguments fit that tool's schema."""
        tool = self.tools.get(call.name)
        if tool is None:
            return Unknown(closest(call.name, self.tools))
        broken = argument_error(call)
        if broken is not None:
            return Invalid((broken,))
        errors = self._check_of(tool)(call.input)
        if not errors and self.facts[call.name].forwards and (problem := search_problem(call.input)):
            errors = (problem,)
        return Invalid(errors) if errors else Valid()

    def _check_of(self, tool: Tool) -> Check:
        name = tool.spec.name
        if name not in self._checks:
            self._checks[name] = self._compiled(tool)
        return self._checks[name]

    def _compiled(self, tool: Tool) -> Check:
        """A schema that the validator refuses lets nothing pass; most were compiled before, and refused at once."""
        try:
            return self.validator.compile(tool.spec.input_schema)
        except ValueError as error:
            refused = (f"/: the tool's own schema cannot be used, so that no arguments can be checked: {error}",)
            return lambda _: refused


def _facts(tool: Tool) -> ToolFacts:
    return ToolFacts(
        tool.tier,
        # What others describe is read by the model and by whoever approves: other words are another tool.
        schema_digest(tool.spec, described=bool(tool.origin)),
        timeout_seconds=tool.timeout_seconds,
        alternative=tool.alternative,
        fallback=tool.fallback,
        max_calls=tool.max_calls,
        poller=tool.poller,
        idempotent=tool.idempotent,
        reconciles=tool.reconcile is not None,
        origin=tool.origin,
    )


def said_of_denied(tools: Mapping[str, ToolFacts], grants: Sequence[Grant], subagent: str = "") -> str:
    """What the operator has to know where nobody can approve: which tools will be denied. "" for none.

    `subagent` is the name of the one whose tools they are, where they are none of the session's own.
    """
    granted = {grant.tool for grant in grants}
    denied = [
        f"{name} is {facts.tier.name}" for name, facts in tools.items() if facts.tier.needs_approval and name not in granted
    ]
    if not denied:
        return ""
    found = any(tools[name].origin for name in tools if tools[name].tier.needs_approval)
    way_out = "tiers= or trusted=True of the McpServer" if found else '@tool(tier="safe")'
    where = f"in the sub-agent {subagent} " if subagent else ""
    names = first_of(denied, _SHOWN)
    return f"{where}{names} and the session has no approve=; every call will be denied. Add approve=, or {way_out}"
