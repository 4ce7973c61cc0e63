"""Every limit in one place. Numbers of the specification are defaults here, never literals in a rule."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Self

from geode.domain.approval import Grant
from geode.domain.errors import Misuse
from geode.domain.naming import refuse_unknown
from geode.domain.retry import RetryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The limits of one run. Unknown names and values out of range are Misuse.

    Budgets: `max_rounds` model rounds (≥ 1), `max_seconds` of wall time, `max_tool_calls` and
    `max_total_tokens` (input and output of all calls), each None for no limit.
    One call: `max_output_tokens`, `call_timeout_seconds` in all, `idle_timeout_seconds` between bytes.
    Tools: `tool_timeout_seconds` for each call, `max_parallel` calls at once.
    A model that misbehaves: at most `max_pauses` paused turns, `max_empty_replies` empty replies and
    `max_calls_under_none` replies that call although they must not, before the run ends.
    Wrap-up: the last `wrap_up_rounds` rounds, at most `wrap_up_share_of_rounds` of the budget; the last
    `wrap_up_seconds`, at most `wrap_up_share_of_seconds` of it; then at most `wrap_up_output_tokens` a reply.
    """

    max_rounds: int = 50
    max_seconds: float | None = None
    max_tool_calls: int | None = None
    max_total_tokens: int | None = None
    max_output_tokens: int | None = None
    call_timeout_seconds: float = 600.0
    idle_timeout_seconds: float = 120.0
    tool_timeout_seconds: float = 120.0
    max_parallel: int = 8
    max_pauses: int = 5
    max_empty_replies: int = 1
    max_calls_under_none: int = 1
    wrap_up_rounds: int = 2
    wrap_up_share_of_rounds: float = 0.25
    wrap_up_seconds: float = 30.0
    wrap_up_share_of_seconds: float = 0.1
    wrap_up_output_tokens: int = 2048
    retry: RetryPolicy = RetryPolicy()
    grants: tuple[Grant, ...] = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        refuse_unknown("Policy", kwargs, (field.name for field in fields(cls)))
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for name in ("max_rounds", "max_parallel", "wrap_up_output_tokens"):
            _whole(name, getattr(self, name), 1)
        for name in ("max_tool_calls", "max_pauses", "max_empty_replies", "max_calls_under_none", "wrap_up_rounds"):
            _whole(name, getattr(self, name), 0)
        for name in ("max_total_tokens", "max_output_tokens"):
            _whole(name, getattr(self, name), 1)
        for name in ("max_seconds", "call_timeout_seconds", "idle_timeout_seconds", "tool_timeout_seconds"):
            _positive(name, getattr(self, name))
        for name, most in (("wrap_up_share_of_rounds", 1), ("wrap_up_share_of_seconds", 1), ("wrap_up_seconds", math.inf)):
            _within(name, getattr(self, name), most)


def _whole(name: str, value: object, least: int) -> None:
    if value is None and name in ("max_tool_calls", "max_total_tokens", "max_output_tokens"):
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise Misuse("policy-value", f"Policy.{name} must be a whole number of {least} or more, got {value!r}")


def _positive(name: str, value: object) -> None:
    if value is None and name == "max_seconds":
        return
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value <= 0:
        raise Misuse("policy-value", f"Policy.{name} must be a number of seconds above 0, got {value!r}")


def _within(name: str, value: object, most: float) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:
        limit = "0 or more seconds" if most == math.inf else f"between 0 and {most:g}"
        raise Misuse("policy-value", f"Policy.{name} must be {limit}, got {value!r}")
