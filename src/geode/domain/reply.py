"""What a model call gave back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from geode.domain.content import Opaque, Text, ToolUseBlock, calls_in
from geode.domain.json_value import clean_text
from geode.domain.usage import Usage


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
