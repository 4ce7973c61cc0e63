"""Whether two runs told the same: their events without deltas, without names of machines, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from geode.domain.json_value import dump_json
from geode.entrypoints.cli.jsonl import event_json
from geode.ports.events import CallDelta, Event, TextDelta, ThinkingDelta

DELTAS: Final = (TextDelta, ThinkingDelta, CallDelta)
_DELTAS: Final = frozenset(delta.__name__ for delta in DELTAS)
# What differs between any two runs, and between two providers: each has its prices.
_OF_ONE_RUN: Final = frozenset(
    {"run_id", "seq", "seconds", "adapter", "model", "route", "request_id", "cost_usd", "unpriced_calls"}
)
_IDS: Final = frozenset({"id", "call_id"})
# Data of the tools, not of the run.
_AS_IT_IS: Final = frozenset({"input", "content"})
_SIDE_BY_SIDE: Final = frozenset({"ToolStarted", "ToolProgressed", "ToolFinished"})


def comparable(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The events as plain data that two equal runs share."""
    return shared(event_json(event) for event in events)


def shared(told: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same of events that are JSON already, as `geode run --jsonl` writes them.

    Ids of calls become numbers in the order in which they appear. What calls that run side by side
    tell has no order among them: it is put in the order of the calls.
    """
    ids: dict[str, str] = {}
    kept = [_without(event, ids) for event in told if event["event"] not in _DELTAS]
    ordered: list[dict[str, Any]] = []
    for parallel, group in groupby(kept, lambda event: event["event"] in _SIDE_BY_SIDE):
        together = list(group)
        ordered += sorted(together, key=_by_call) if parallel else together
    return ordered


def difference(one: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]]) -> str:
    """The first thing that is not the same, or ""."""
    for number, (left, right) in enumerate(zip(one, other, strict=False), 1):
        if left != right:
            fields = [name for name in {**left, **right} if left.get(name) != right.get(name)]
            shown = "; ".join(f"{name} {dump_json(left.get(name))} ≠ {dump_json(right.get(name))}" for name in fields)
            return f"event {number}, {left['event']} of round {left['round']}: {shown}"
    return "" if len(one) == len(other) else f"{len(one)} events ≠ {len(other)} events"


def _without(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_without(item, ids) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: item for name, item in value.items() if name not in _OF_ONE_RUN}
    return {name: _shared(name, item, ids) for name, item in kept.items()}


def _shared(name: str, item: Any, ids: dict[str, str]) -> Any:
    if name in _AS_IT_IS:
        return item
    if name in _IDS and isinstance(item, str):
        return ids.setdefault(item, f"call {len(ids) + 1}")
    return _without(item, ids)


def _by_call(event: dict[str, Any]) -> tuple[str, str]:
    # "ToolFinished" < "ToolProgressed" < "ToolStarted": any fixed order will do.
    return event["call"]["id"], event["event"]
