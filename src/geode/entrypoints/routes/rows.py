"""The rows of `[models]`, with those that they are like, as the domain has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from geode.domain.models import ModelRow
from geode.domain.naming import closest
from geode.domain.routing import RoutingTable
from geode.entrypoints.routes.grammar import File, Problem


def row_problems(file: File) -> Iterator[Problem]:
    for name, row in file.models.items():
        if row.like is not None and row.like not in file.models:
            close = closest(row.like, file.models)
            hint = f"; did you mean {close[0]}?" if close else ""
            yield Problem(("models", name, "like"), f"there is no such row{hint}")
            continue
        facts = _facts(name, file)
        if facts is None:
            yield Problem(("models", name, "like"), "the rows are like each other in a circle")
        elif (word := facts.get("default_effort")) and facts.get("effort") is not None and word not in facts["effort"]:
            yield Problem(("models", name, "default_effort"), f"must be one of its efforts: {', '.join(facts['effort'])}")


def _facts(name: str, file: File) -> dict[str, Any] | None:
    """What the row says, and what those say that it is like; None where that goes in a circle."""
    facts, seen = dict[str, Any](), set[str]()
    at: str | None = name
    while at is not None and at in file.models:
        if at in seen:
            return None
        seen.add(at)
        row = file.models[at]
        facts = {**{field: value for field, value in dict(row).items() if value is not None and field != "like"}, **facts}
        at = row.like
    return facts


def row_of_file(name: str, file: File, table: RoutingTable) -> ModelRow:
    facts = _facts(name, file) or {}
    changes: dict[str, Any] = {field: facts[field] for field in ("window", "output", "default_effort") if field in facts}
    if "effort" in facts:
        changes["efforts"] = tuple(facts["effort"])
    if "thinking" in facts:
        changes["thinking"] = frozenset(facts["thinking"])
    if "effort_with_tools" in facts:
        changes["effort_beside_tools"] = facts["effort_with_tools"]
    sampling, choice = facts.get("sampling", "any"), facts.get("choice", "any")
    return ModelRow(
        name,
        forced_choice=choice != "unforced",
        forced_with_effort=choice != "unless_effort",
        sampling=sampling == "any",
        sampling_at_none=sampling == "at_none",
        binds_prefix=facts.get("binds_thinking", False),
        tool_search=facts.get("tool_search", False),
        maker=_maker(name, table),
        **changes,
    )


def _maker(name: str, table: RoutingTable) -> str:
    """Who makes the models of a row: whoever their ids lead to."""
    if "/" in name:
        return ""
    to = next((to for prefix, to in table.prefixes if name.startswith(prefix)), "")
    return table.targets[to].identity.id if to in table.targets else to
