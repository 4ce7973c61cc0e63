"""Every limit in one place. Numbers of the specification are defaults here, never literals in a rule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, Final, Literal, Self, TypeVar

from geode.domain.approval import Grant
from geode.domain.errors import Misuse
from geode.domain.naming import refuse_unknown
from geode.domain.offload import ResultLimits
from geode.domain.retry import RetryPolicy, is_number

Kind = TypeVar("Kind")

_FROM_ONE: Final = (
    *("max_rounds", "max_parallel", "wrap_up_output_tokens", "max_total_tokens", "max_output_tokens"),
    *("backpressure_rounds", "no_progress_rounds", "no_progress_window", "recovery_failures"),
    *("max_iterated_items", "max_iterated_characters"),
)
_FROM_NONE: Final = (
    *("max_tool_calls", "max_pauses", "max_empty_replies", "max_calls_under_none", "max_compactions", "wrap_up_rounds"),
    "answer_repairs",
    *("max_no_progress_hints", "max_recovery_executions", "defer_above", "compact_keep_rounds"),
)
# None is no limit here.
_OPEN: Final = ("max_tool_calls", "max_total_tokens", "max_output_tokens", "max_no_progress_hints", "defer_above")
_TAKES: Final = {"retry": "a RetryPolicy", "grants": 'a tuple of Grant, such as (Grant("read"),)'}
_RANGES: Final = (
    *(("wrap_up_share_of_rounds", 1.0), ("wrap_up_share_of_seconds", 1.0)),
    *(("wrap_up_seconds", math.inf), ("recovery_seconds", math.inf)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The limits of one run. Unknown names and values out of range are Misuse.

    Budgets: `max_rounds` model rounds (≥ 1), `max_seconds` of wall time, `max_tool_calls`,
    `max_total_tokens` (input and output of all calls) and `max_cost_usd` (a Decimal, of what the provider
    says it charged, else of the table of prices), each None for no limit. A call is made only if one as dear as the
    last still fits. Of a reply that breaks off, what was told counts; the rest is in `usage.unpriced_calls`.
    One call: `max_output_tokens`, `call_timeout_seconds` in all, `idle_timeout_seconds` between bytes.
    Tools: `tool_timeout_seconds` for each call, `max_parallel` calls at once.
    A model that misbehaves: at most `max_pauses` paused turns, `max_empty_replies` empty replies and
    `max_calls_under_none` replies that call although they must not, before the run ends.
    A typed answer: `answer_repairs` times the model is told what is wrong with one that does not fit its schema. Calls
    beside an answer that fits are run and the run goes on ("finish_tools"), or they are not and it ends ("early").
    A conversation that is too long for its model: at most `max_compactions` attempts to make it shorter when the provider
    refuses it, by a summary of all but the last `compact_keep_rounds` replies; and before a round when the last call filled
    more than `compact_above` of the model's window, a share above 0 and up to 1, such as 0.8 (1.0: only what is refused).
    None: only hooks make it shorter (docs/compaction.md).
    Wrap-up: the last `wrap_up_rounds` rounds, at most `wrap_up_share_of_rounds` of the budget; the last
    `wrap_up_seconds`, at most `wrap_up_share_of_seconds` of it; then at most `wrap_up_output_tokens` a reply.
    A model that gets nowhere: a hint from `backpressure_rounds` failed rounds in a row on; a hint when
    `no_progress_rounds` of the last `no_progress_window` rounds made the same call, and the end of the run
    when it happens after `max_no_progress_hints` of them (None: never).
    Recovery: after `recovery_failures` failures of a tool in a row its next call waits `recovery_seconds`
    and takes at most `max_recovery_executions` executions, stand-ins included (0: no recovery).
    Many tools: with more than `defer_above` tools the model is not told of those that are `deferred`; it searches them
    (None: it is told of all).
    Long results: `result_limits` for all tools, `result_limits_of` for single ones by name; what is stored
    lives for `result_seconds`, and no longer than its session.
    Results: an iterator is read up to `max_iterated_items` items, or until they have more than
    `max_iterated_characters`; `oversize_images`, those over the provider's limits, "resize" makes smaller
    (with the extra `images`), and "refuse" replaces by words.
    """

    max_rounds: int = 50
    max_seconds: float | None = None
    max_tool_calls: int | None = None
    max_total_tokens: int | None = None
    max_cost_usd: Decimal | None = None
    max_output_tokens: int | None = None
    call_timeout_seconds: float = 600.0
    idle_timeout_seconds: float = 120.0
    tool_timeout_seconds: float = 120.0
    max_parallel: int = 8
    max_pauses: int = 5
    max_empty_replies: int = 1
    max_calls_under_none: int = 1
    max_compactions: int = 2
    answer_repairs: int = 1
    answer_beside_calls: Literal["finish_tools", "early"] = "finish_tools"
    compact_above: float | None = 1.0
    compact_keep_rounds: int = 2
    wrap_up_rounds: int = 2
    wrap_up_share_of_rounds: float = 0.25
    wrap_up_seconds: float = 30.0
    wrap_up_share_of_seconds: float = 0.1
    wrap_up_output_tokens: int = 2048
    backpressure_rounds: int = 3
    no_progress_rounds: int = 5
    no_progress_window: int = 10
    max_no_progress_hints: int | None = 3
    recovery_failures: int = 2
    recovery_seconds: float = 1.0
    max_recovery_executions: int = 3
    defer_above: int | None = 16
    result_limits: ResultLimits = ResultLimits()
    result_limits_of: Mapping[str, ResultLimits] = field(default_factory=dict[str, ResultLimits])
    result_seconds: float = 4 * 3600.0
    max_iterated_items: int = 10_000
    max_iterated_characters: int = 10_000_000
    oversize_images: Literal["resize", "refuse"] = "resize"
    retry: RetryPolicy = RetryPolicy()
    grants: tuple[Grant, ...] = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        refuse_unknown("Policy", kwargs, (field.name for field in fields(cls)))
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for name in _FROM_ONE:
            _whole(name, getattr(self, name), 1)
        for name in _FROM_NONE:
            _whole(name, getattr(self, name), 0)
        for name in ("max_seconds", "call_timeout_seconds", "idle_timeout_seconds", "tool_timeout_seconds", "result_seconds"):
            _positive(name, getattr(self, name))
        for name, most in _RANGES:
            _within(name, getattr(self, name), most)
        _dollars("max_cost_usd", self.max_cost_usd)
        _share("compact_above", self.compact_above)
        _limits("result_limits", self.result_limits)
        if not isinstance(self.result_limits_of, Mapping):
            raise Misuse("policy-value", "Policy.result_limits_of maps names of tools to ResultLimits")
        for name, limits in self.result_limits_of.items():
            _limits(f"result_limits_of[{name!r:.80}]", limits)
        if self.oversize_images not in ("resize", "refuse"):
            raise Misuse("policy-value", f'Policy.oversize_images is "resize" or "refuse", got {self.oversize_images!r}')
        if self.answer_beside_calls not in ("finish_tools", "early"):
            raise Misuse(
                "policy-value",
                f'Policy.answer_beside_calls is "finish_tools" or "early", got {self.answer_beside_calls!r:.80}',
            )
        _of_kind("retry", self.retry, RetryPolicy)
        for grant in _of_kind("grants", self.grants, tuple):
            _of_kind("grants", grant, Grant)

    def limits_of(self, tool: str) -> ResultLimits:
        """The limits of a tool's results: its own, or those of all."""
        return self.result_limits_of.get(tool, self.result_limits)


def _whole(name: str, value: object, least: int) -> None:
    if value is None and name in _OPEN:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise Misuse("policy-value", f"Policy.{name} must be a whole number of {least} or more, got {value!r}")


def _positive(name: str, value: object) -> None:
    if value is None and name == "max_seconds":
        return
    if not is_number(value) or value <= 0:
        raise Misuse("policy-value", f"Policy.{name} must be a number of seconds above 0, got {value!r:.80}")


def _limits(name: str, value: object) -> None:
    if not isinstance(value, ResultLimits):
        raise Misuse("policy-value", f"Policy.{name} must be ResultLimits(…), got {type(value).__name__}")


def _dollars(name: str, value: object) -> None:
    if value is None or (isinstance(value, Decimal) and value.is_finite() and value > 0):
        return
    raise Misuse("policy-value", f'Policy.{name} must be a Decimal above 0, such as Decimal("0.10"), got {value!r}')


def _share(name: str, value: object) -> None:
    if value is not None and not (is_number(value) and 0 < value <= 1):
        raise Misuse("policy-value", f"Policy.{name} must be above 0 and at most 1, such as 0.8, got {value!r:.80}")


def _within(name: str, value: object, most: float) -> None:
    if not is_number(value) or not 0 <= value <= most:
        limit = "0 or more seconds" if most == math.inf else f"between 0 and {most:g}"
        raise Misuse("policy-value", f"Policy.{name} must be {limit}, got {value!r:.80}")


def _of_kind(name: str, value: Kind, kind: type[Kind]) -> Kind:
    if not isinstance(value, kind):
        raise Misuse("policy-value", f"Policy.{name} takes {_TAKES[name]}, got {value!r:.80}")
    return value
