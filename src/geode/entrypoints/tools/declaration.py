"""The decorator: it writes a declaration on the function and leaves the function as it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar, overload

from geode.domain.errors import Misuse
from geode.domain.naming import refuse_unknown
from geode.domain.tiers import SafetyTier, TierName, tier_of

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE: Final = "__geode_tool__"
_SETTINGS: Final = (
    *("tier", "name", "description", "timeout_seconds", "blocking", "strict"),
    *("alternative", "fallback", "max_calls", "poller", "idempotent", "reconcile", "deferred"),
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `@tool(…)` said. None: what the function itself says, or the default."""

    tier: SafetyTier = SafetyTier.DANGEROUS
    name: str | None = None
    description: str | None = None
    timeout_seconds: float | None = None
    blocking: bool | None = None
    strict: bool = False
    alternative: str | None = None
    fallback: str | None = None
    max_calls: int | None = None
    poller: bool = False
    idempotent: bool = False
    reconcile: Callable[..., Any] | None = None
    deferred: bool = False


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    tier: SafetyTier | TierName | None = None,
    name: str | None = None,
    description: str | None = None,
    timeout_seconds: float | None = None,
    blocking: bool | None = None,
    strict: bool = False,
    alternative: str | None = None,
    fallback: str | None = None,
    max_calls: int | None = None,
    poller: bool = False,
    idempotent: bool = False,
    reconcile: Callable[..., Any] | None = None,
    deferred: bool = False,
) -> Callable[[F], F]: ...
def tool(
    function: Any = None,
    /,
    *,
    tier: SafetyTier | TierName | None = None,
    name: str | None = None,
    description: str | None = None,
    timeout_seconds: float | None = None,
    blocking: bool | None = None,
    strict: bool = False,
    alternative: str | None = None,
    fallback: str | None = None,
    max_calls: int | None = None,
    poller: bool = False,
    idempotent: bool = False,
    reconcile: Callable[..., Any] | None = None,
    deferred: bool = False,
    **unknown: Any,
) -> Any:
    """Declare a function, a method or a class of callable objects as a tool: `@tool` or `@tool(tier="safe")`.

    The function is returned unchanged. `tier` says how much harm it can do; without one it is DANGEROUS.
    `name` and `description` replace the function's own. `timeout_seconds` is its deadline, if it is not
    the policy's. `blocking=False` says that a synchronous function never blocks, so that it needs no
    thread. `strict=True` asks the provider to hold the model to the schema: where it has no such mode, or the
    schema does not fit it, no request leaves.

    `alternative` names a tool with the same parameters that stands in when this one keeps failing,
    `fallback` a cheaper one; neither may change anything. `max_calls` bounds its executions in a run.
    `poller=True`: calling it again with the same arguments is no lack of progress.

    For runs whose process ended during a call: `idempotent=True` promises that running the call again, with
    the same `ToolContext.idempotency_key`, has the effect of once; `reconcile` is a function of the arguments
    and the `ToolContext` that returns the result which the call had, or `NotRun()`. A method of the same
    class may be given as it stands in the class.

    `deferred=True`: in a session with many tools the model is not told of this one, and finds it by searching.
    A setting that is unknown or out of its range is Misuse.
    """
    refuse_unknown("@tool", unknown, _SETTINGS)
    declaration = Declaration(
        tier_of(tier),
        name,
        description,
        timeout_seconds=deadline_of(timeout_seconds),
        blocking=blocking,
        strict=strict,
        alternative=_tool_name("alternative", alternative),
        fallback=_tool_name("fallback", fallback),
        max_calls=_count("max_calls", max_calls),
        poller=_flag("poller", poller),
        idempotent=_flag("idempotent", idempotent),
        reconcile=_reconciler(reconcile),
        deferred=_flag("deferred", deferred),
    )

    def declare(function: F) -> F:
        # The objects of `staticmethod` and `classmethod` are not what `tools=[…]` will see.
        target = getattr(function, "__func__", function)
        try:
            setattr(target, _ATTRIBUTE, declaration)
        except (AttributeError, TypeError):
            message = f"@tool cannot mark {str(function)[:80]}; wrap it in a function of your own"
            raise Misuse("not-a-tool", message) from None
        return function

    if function is None:
        return declare
    if isinstance(function, str):
        raise Misuse("not-a-tool", f"@tool({function!r}) names no parameter. Write @tool(tier={function!r})")
    return declare(function)


def declaration_of(value: object) -> Declaration:
    """What was declared on `value`, seen through a bound method or the class of a callable object."""
    found = getattr(value, _ATTRIBUTE, None)
    return found if isinstance(found, Declaration) else Declaration()


def deadline_of(seconds: object) -> float | None:
    """A deadline that was given. Misuse for anything but seconds above 0."""
    if seconds is None:
        return None
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not math.isfinite(seconds) or seconds <= 0:
        raise Misuse("tool-timeout", f"timeout_seconds must be a number of seconds above 0, got {seconds!r}")
    return seconds


def _tool_name(setting: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    shown = getattr(value, "__name__", type(value).__name__)
    raise Misuse("tool-setting", f'{setting} takes the name of a tool, got {shown}. Write {setting}="{shown}"')


def _count(setting: str, value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise Misuse("tool-setting", f"{setting} must be a whole number of 1 or more, got {value!r}")


def _flag(setting: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise Misuse("tool-setting", f"{setting} is True or False, got {value!r}")
    return value


def _reconciler(value: Callable[..., Any] | None) -> Callable[..., Any] | None:
    found: object = value
    if found is None or callable(found):
        return value
    kind = type(found).__name__
    raise Misuse("tool-reconcile", f"reconcile= takes a function of the arguments and the ToolContext, got {kind}")
