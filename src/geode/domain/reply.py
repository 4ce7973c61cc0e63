"""What a model call gave back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any, TypeAlias

from geode.domain.content import Opaque, Text, ToolUseBlock, calls_in
from geode.domain.json_value import clean_text
from geode.domain.quota import Quota


class Stop(Enum):
    """Why the model stopped (spec section 3). Calls decide continuation, not this word."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"
    PAUSE = "pause"
    CONTEXT_EXCEEDED = "context_exceeded"
    CONTENT_FILTER = "content_filter"
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call or a sum of calls.

    `input_tokens` is the whole input, cached parts included, on every wire. `cost_usd` is what the
    provider itself charged, in US dollars, or None where it does not say. `quota` is what it told last of the
    account's limits.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = None
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    quota: tuple[Quota, ...] = ()

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            sum(costs, Decimal(0)) if costs else None,
            self.cached_input_tokens + other.cached_input_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            other.quota or self.quota,
        )


ReplyItem: TypeAlias = Text | ToolUseBlock | Opaque


@dataclass(frozen=True, slots=True)
class AdapterCallResult:
    """One reply: items in their order, why it stopped (never defaulted), what it cost, who served it.

    `stop_word` is the provider's own word. `refusal` holds the provider's details of a refusal.
    `route` is the serving model or route as the provider names it. Lone surrogates are replaced on entry.
    """

    items: tuple[ReplyItem, ...]
    stop: Stop
    usage: Usage
    stop_word: str = ""
    refusal: Mapping[str, Any] | None = None
    route: str = ""
    request_id: str = ""
    calls: tuple[ToolUseBlock, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", calls_in(self.items))
        for name in ("stop_word", "route", "request_id"):
            object.__setattr__(self, name, clean_text(getattr(self, name)))

    @property
    def text(self) -> str:
        return "".join(item.text for item in self.items if isinstance(item, Text))
