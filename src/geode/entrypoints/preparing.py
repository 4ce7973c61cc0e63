"""Settings, checked and made values: everything a session needs but an open connection."""

from __future__ import annotations

import inspect
import logging
import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from geode.application.catalog import said_of_denied
from geode.application.equipment import Surroundings
from geode.application.searching import check_search_name
from geode.application.shared_tools import SharedTools
from geode.application.structured import Wanted
from geode.application.tools_in_force import Kit
from geode.domain.errors import Misuse
from geode.domain.naming import closest
from geode.domain.offload import RECALL
from geode.domain.policy import Policy
from geode.domain.results import Rendering
from geode.domain.thinking import Thinking, parse_thinking
from geode.domain.tool_search import SEARCH
from geode.domain.toolkits import as_toolkits, unknown_in
from geode.entrypoints.answers import wanted_answer
from geode.entrypoints.approvers import AskEach, InTurn, takes_one
from geode.entrypoints.long_results import LongResults, counter, long_results
from geode.entrypoints.routes.session_models import SessionModels
from geode.entrypoints.settings import Answer, Settings
from geode.entrypoints.subagents import Declared, Lends, bound
from geode.ports.approval import Approver
from geode.ports.events import Observer
from geode.ports.hooks import Hooks
from geode.ports.images import ImageResizer
from geode.ports.journal import Journal
from geode.ports.schema import SchemaValidator

log = logging.getLogger("geode")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Settings, checked: everything a session needs but an open connection."""

    models: SessionModels
    system: str
    temperature: float | None
    thinking: Thinking | None
    policy: Policy
    tools: SharedTools
    toolkit: Kit
    around: Surroundings
    long_results: LongResults
    validator: SchemaValidator
    answer: Wanted | None = None
    subagent: str = ""


def prepare(settings: Settings, lends: Callable[[Declared, Surroundings], Lends], subagent: str = "") -> Prepared:
    """`settings` as values, those of a sub-agent of that name. Misuse for whatever cannot work.

    `lends` makes the runtime of each sub-agent among the tools.
    """
    from geode.adapters.clock_system import SystemClock
    from geode.adapters.schema_jsonschema import JsonschemaValidator
    from geode.entrypoints.tools import build_tools
    from geode.entrypoints.tools.sources import sources_in

    models = SessionModels(settings)
    deps = settings.get("deps")
    validator = settings.get("validator") or JsonschemaValidator()
    values, sources, prefixed = sources_in(settings.get("tools", ()))
    declared = build_tools(cast("Any", values), deps, validator)
    clock = settings.get("clock") or SystemClock()
    around = Surroundings(
        clock,
        _journal(settings.get("journal")),
        lambda: uuid.uuid4().hex,
        _approver(settings),
        _observers(settings),
        deps,
        _hooks(settings),
        Rendering(dict(settings.get("renderers", {}))),
        _resizer(settings.get("resizer")),
        counter(settings),
    )
    own = bound(declared, lambda inner: lends(inner, around))
    tools = SharedTools(own, sources, validator, clock, prefixed=prefixed, reserved=(RECALL, SEARCH))
    policy = _policy(settings)
    check_search_name(own, policy.defer_above, sources)
    if policy.max_cost_usd is not None:
        models.refuse_unpriced(compacts=policy.compact_above is not None)
    prepared = Prepared(
        models,
        settings.get("system", ""),
        _temperature(settings),
        parse_thinking(settings.get("thinking")),
        policy,
        tools,
        checked_toolkit(settings.get("toolkit"), tools),
        around,
        long_results(settings, tools, policy, around),
        validator,
        wanted_answer(settings.get("answer"), validator),
        subagent,
    )
    if not sources:
        say_what_is_denied(prepared)
    return prepared


def say_what_is_denied(prepared: Prepared) -> None:
    """Warn of the tools that nobody can approve, once all of them are known."""
    denied = said_of_denied(prepared.tools.offer.catalog.facts, prepared.policy.grants, prepared.subagent)
    if denied and prepared.around.approver is None:
        log.warning("%s", denied)


def checked_toolkit(value: object, tools: SharedTools) -> Kit:
    """What may be used, as `toolkit=` says. Misuse for what is none, and for a name that no tool can have."""
    if inspect.iscoroutinefunction(value):
        name = getattr(value, "__name__", "")
        raise Misuse(
            "toolkit", f"toolkit= is asked before each round, and cannot be waited for: write def {name}, not async def"
        )
    if callable(value):
        return cast("Kit", value)
    toolkits = as_toolkits(value)
    unknown = None if tools.has_sources else unknown_in(toolkits, tools.offer.catalog.tools)
    if unknown is not None:
        toolkit, name = unknown
        close = closest(name, tools.offer.catalog.tools)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise Misuse("toolkit", f'Toolkit({toolkit.name!r}) names "{name}", this session has no such tool{hint}')
    return toolkits


def _journal(journal: object) -> Journal:
    """The journal that `journal` is, or that keeps its runs in the folder of that name; nothing is kept without one."""
    if journal is None or journal == "":
        from geode.adapters.journal_memory import NoJournal

        return NoJournal()
    if isinstance(journal, str | Path):
        from geode.adapters.journal_file import FileJournal

        return FileJournal(journal)
    if not isinstance(journal, Journal):
        raise Misuse("journal-type", f"journal must be a folder or a geode.ports.Journal, got {type(journal).__name__}")
    return journal


def _resizer(resizer: object) -> ImageResizer:
    """The resizer that `resizer` is; without one, Pillow, which says itself where it is not installed."""
    if resizer is None:
        from geode.adapters.images_pillow import PillowImages

        return PillowImages()
    if isinstance(resizer, type) or not isinstance(resizer, ImageResizer):
        kind = resizer.__name__ if isinstance(resizer, type) else type(resizer).__name__
        raise Misuse("resizer-type", f"resizer must be an object with fitted(image, max_bytes=…, max_side=…), got {kind}")
    return resizer


def _approver(settings: Settings) -> Approver | None:
    approve: object = settings.get("approve")
    if approve is None:
        return None
    decide = getattr(approve, "decide", None)
    asked = approve if decide is None else decide
    if not callable(asked):
        raise Misuse("approve-type", f"approve must be a function of one call or an Approver, got {type(approve).__name__}")
    if not takes_one(asked):
        name = getattr(asked, "__qualname__", type(asked).__name__)
        raise Misuse("approve-type", f"approve={name} cannot be called with one argument, the call to answer for")
    return InTurn(AskEach(cast("Answer", approve)) if decide is None else cast("Approver", approve), approve)


def _observers(settings: Settings) -> tuple[Observer, ...]:
    observe = settings.get("observe")
    if observe is None:
        return ()
    several: Sequence[object] = observe if isinstance(observe, list | tuple) else (observe,)
    for observer in several:
        if not callable(observer):
            raise Misuse("observe-type", f"observe must be a function of one event, got {type(observer).__name__}")
    return cast("tuple[Observer, ...]", tuple(several))


def _hooks(settings: Settings) -> tuple[Hooks, ...]:
    hooks: object = settings.get("hooks")
    if hooks is None:
        return ()
    several = cast("Sequence[object]", hooks if isinstance(hooks, list | tuple) else (hooks,))
    for one in several:
        if not isinstance(one, Hooks):
            raise Misuse("hooks-type", f"hooks must be Hooks(before_tool=…), got {type(one).__name__}")
    return cast("tuple[Hooks, ...]", tuple(several))


def _temperature(settings: Settings) -> float | None:
    value: object = settings.get("temperature")
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise Misuse("temperature", f'temperature must be a number, got "{value}"')
    return float(value)


def _policy(settings: Settings) -> Policy:
    policy: object = settings.get("policy")
    if policy is None:
        return Policy()
    if not isinstance(policy, Policy):
        raise Misuse("policy-type", f"policy must be a Policy, got {type(policy).__name__}: Policy(max_rounds=…)")
    return policy
