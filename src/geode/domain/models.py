"""What families of models take, as rows of data: the longest prefix of the model's id wins (spec sections 2, 3 and 9).

A row says what is known. A model without a row is used as the tables of the specification say, and only
a known limit refuses anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

ThinkingKind: TypeAlias = Literal["adaptive", "budget"]
EffortBesideTools: TypeAlias = Literal["any", "unset_or_none", "none"]

THINKING_KINDS: Final[frozenset[ThinkingKind]] = frozenset({"adaptive", "budget"})


@dataclass(frozen=True, slots=True)
class ModelRow:
    """The limits of the models whose id starts with `prefix`.

    `forced_choice`: takes a forced tool choice at all; `forced_with_effort`: keeps its reasoning beside one.
    `thinking`: the modes it takes. `sampling`: takes a temperature other than the provider's default;
    `sampling_at_none`: takes one at effort `none`, which is its effort unless told otherwise.
    `efforts`: the words it takes, None where that is not known. `effort_beside_tools`: those it takes in a
    request with tools. `binds_prefix`: its thinking holds
    only after the very prefix it was made after.
    """

    prefix: str
    forced_choice: bool = True
    forced_with_effort: bool = True
    thinking: frozenset[ThinkingKind] = THINKING_KINDS
    sampling: bool = True
    sampling_at_none: bool = False
    efforts: tuple[str, ...] | None = None
    effort_beside_tools: EffortBesideTools = "any"
    binds_prefix: bool = False


_NO_ROW: Final = ModelRow("")


def row_of(model: str, rows: Iterable[ModelRow]) -> ModelRow:
    """The row of `model`: the one with the longest prefix, or one that limits nothing."""
    return max((row for row in rows if model.startswith(row.prefix)), key=lambda row: len(row.prefix), default=_NO_ROW)


def _rows(*prefixes: str, like: ModelRow) -> tuple[ModelRow, ...]:
    return tuple(replace(like, prefix=prefix) for prefix in prefixes)


_ADAPTIVE: Final[frozenset[ThinkingKind]] = frozenset({"adaptive"})
_BUDGET: Final[frozenset[ThinkingKind]] = frozenset({"budget"})

_UP_TO_HIGH: Final = ("low", "medium", "high")
_UP_TO_MAX: Final = (*_UP_TO_HIGH, "xhigh", "max")
_MODERN: Final = ModelRow("", thinking=_ADAPTIVE, efforts=_UP_TO_MAX)

# Wire facts A2 (forcing), A4 (thinking modes and efforts) and C1.9 (prefix binding).
CLAUDE: Final[tuple[ModelRow, ...]] = (
    *_rows(
        *("claude-3-7", "claude-opus-4-2025", "claude-opus-4-0", "claude-opus-4-1"),
        *("claude-sonnet-4-2025", "claude-sonnet-4-0", "claude-sonnet-4-5", "claude-haiku-4-5"),
        like=ModelRow("", thinking=_BUDGET, efforts=()),
    ),
    ModelRow("claude-opus-4-5", thinking=_BUDGET, efforts=_UP_TO_HIGH),
    *_rows("claude-opus-4-6", "claude-sonnet-4-6", like=ModelRow("", efforts=(*_UP_TO_HIGH, "max"))),
    *_rows(
        *("claude-opus-4-7", "claude-opus-4-8"),
        *("claude-opus-5", "claude-sonnet-5", "claude-haiku-5", "claude-fable-5", "claude-mythos-5"),
        like=_MODERN,
    ),
    *_rows(
        *("claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-2", "claude-mythos-5-2"),
        like=replace(_MODERN, binds_prefix=True),
    ),
    *_rows(
        *("claude-opus-5-5", "claude-fable-5-1", "claude-mythos-5-1"),
        like=replace(_MODERN, forced_choice=False, binds_prefix=True),
    ),
)

# Wire facts A5: reasoning models and their temperature. Some do not reason unless told to and then take one, as
# recorded traffic shows. Models whose name says chat do not reason.
_UP_TO_XHIGH: Final = ("none", *_UP_TO_HIGH, "xhigh")
_IDLE: Final = ModelRow("", sampling=False, sampling_at_none=True, efforts=_UP_TO_XHIGH)
GPT: Final[tuple[ModelRow, ...]] = (
    *_rows("gpt-4o", "gpt-4.1", like=ModelRow("", efforts=())),
    *_rows("o1", "o3", "o4", like=ModelRow("", sampling=False, efforts=_UP_TO_HIGH)),
    ModelRow("gpt-5", sampling=False),
    *_rows("gpt-5-mini", "gpt-5-nano", "gpt-5-2025", like=ModelRow("", sampling=False, efforts=("minimal", *_UP_TO_HIGH))),
    ModelRow("gpt-5-pro", sampling=False, efforts=("high",)),
    ModelRow("gpt-5.1", sampling=False, sampling_at_none=True, efforts=("none", *_UP_TO_HIGH)),
    *_rows("gpt-5.2", "gpt-5.4-mini", "gpt-5.4-nano", like=_IDLE),
    *_rows("gpt-5.4", "gpt-5.5", like=ModelRow("", sampling=False, efforts=_UP_TO_XHIGH)),
    ModelRow("gpt-5.6", sampling=False, efforts=(*_UP_TO_XHIGH, "max")),
    *_rows("gpt-5-chat", "gpt-5.1-chat", "gpt-5.2-chat", like=ModelRow("")),
)


def _beside_tools(row: ModelRow) -> ModelRow:
    """Wire facts A2: function tools and effort on Chat Completions."""
    if row.prefix.startswith("gpt-5.4"):
        return replace(row, effort_beside_tools="unset_or_none")
    return replace(row, effort_beside_tools="none") if row.prefix in ("gpt-5.5", "gpt-5.6") else row


GPT_CHAT: Final[tuple[ModelRow, ...]] = tuple(map(_beside_tools, GPT))

# Wire facts A2: this relay drops the reasoning of Anthropic's models when a tool is forced. What it makes of a
# temperature at effort none is not assumed (spec section 9).
RELAYED: Final[tuple[ModelRow, ...]] = (
    ModelRow("anthropic/", forced_with_effort=False),
    *(replace(row, prefix=f"openai/{row.prefix}", sampling_at_none=False) for row in GPT),
)
