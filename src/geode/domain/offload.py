"""Results that are too long for the model's context: what becomes of them, and what the model reads instead (spec section 5).

    short enough ─▶ as it is
    too long     ─▶ offload: the whole goes to a store, the model gets a summary and a `ref_id`
                 ─▶ cut: its head and its tail stay, where nothing can keep the whole

Text is measured, and so is a plain text that goes out as a document. Pictures and PDFs are not: providers
count them otherwise, and what a tool returns of them is bounded when it is rendered. They stay beside the
summary or what is left of the text.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from geode.domain.content import Document, Part, ResultKind, Text, ToolResult
from geode.domain.errors import Misuse
from geode.domain.json_value import clean_text
from geode.domain.shape import shape_of
from geode.domain.tokens import CountTokens, estimate_tokens, exceeds, longest_head, longest_tail
from geode.domain.turns import ToolResultsTurn, Turn, hints_of

Remedy: TypeAlias = Literal["offload", "cut", "keep"]

RECALL: Final = "recall_tool_result"
SUMMARY_CHARACTERS: Final = 400
# No limit is below this, whatever share of a small window it would be: what says that something was cut needs room.
LEAST_TOKENS: Final = 128
REF_BYTES: Final = 16
# 16 bytes in base 32, without upper case: there are file systems that do not know it from lower case.
_REF: Final = re.compile(r"r_[a-z2-7]{26}")
_REFS_IN: Final = re.compile(rf"\b{_REF.pattern}\b")
_HEAD_SHARE: Final = 2 / 3
_LOOKED_AT: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultLimits:
    """How much of one result the model reads.

    `remedy` of what is too long: "offload" it, "cut" it, or "keep" it whole. A result is offloaded from
    `offload_tokens` on, and cut where it has more than `cut_tokens` and was not offloaded; where the model's
    window is known both are at most `share_of_window` of it, and never less than 128 tokens.
    """

    remedy: Remedy = "offload"
    offload_tokens: int = 15_000
    cut_tokens: int = 25_000
    share_of_window: float = 0.05

    def __post_init__(self) -> None:
        if self.remedy not in ("offload", "cut", "keep"):
            raise Misuse("policy-value", f"ResultLimits.remedy must be offload, cut or keep, got {self.remedy!r:.80}")
        for name in ("offload_tokens", "cut_tokens"):
            value: object = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < LEAST_TOKENS:
                raise Misuse(
                    "policy-value", f"ResultLimits.{name} must be a whole number of {LEAST_TOKENS} or more, got {value!r:.80}"
                )
        share: object = self.share_of_window
        if not isinstance(share, int | float) or isinstance(share, bool) or not 0 < share <= 1:
            raise Misuse("policy-value", f"ResultLimits.share_of_window must be above 0 and at most 1, got {share!r:.80}")

    def within(self, window: int | None) -> ResultLimits:
        """These limits for a model whose window is so many tokens, or is not known."""
        if window is None:
            return self
        most = max(int(window * self.share_of_window), LEAST_TOKENS)
        return replace(self, offload_tokens=min(self.offload_tokens, most), cut_tokens=min(self.cut_tokens, most))

    @property
    def without_store(self) -> ResultLimits:
        """These limits for what nothing can keep: it is cut where it would be offloaded."""
        return replace(self, remedy="cut") if self.remedy == "offload" else self


def remedy_for(result: ToolResult, limits: ResultLimits, count: CountTokens = estimate_tokens) -> Remedy:
    """What becomes of the result under `limits`, which were fitted to the model's window."""
    if limits.remedy == "keep":
        return "keep"
    text = measured(result.content)
    if limits.remedy == "offload" and exceeds(text, limits.offload_tokens - 1, count):
        return "offload"
    return "cut" if exceeds(text, limits.cut_tokens - _flag_tokens(result.kind, text, count), count) else "keep"


def measured(content: Iterable[Part]) -> str:
    """The text of a result, that of plain text documents included."""
    return "\n".join(text for part in content if (text := _text_of(part)) is not None)


def _text_of(part: Part) -> str | None:
    match part:
        case Text(text=text):
            return text
        case Document(media_type="text/plain"):
            return clean_text(part.text)
        case _:
            return None


def _flag_tokens(kind: ResultKind, text: str, count: CountTokens) -> int:
    """What the words add that say on some wires that a result is not ok."""
    start = text[:_LOOKED_AT]
    return count(ToolResult("", kind, (Text(start),)).flagged_text.removesuffix(start))


# ---- cut -----------------------------------------------------------------------------------------


def cut(result: ToolResult, limits: ResultLimits, count: CountTokens = estimate_tokens) -> ToolResult:
    """The result with its text cut to `limits.cut_tokens`, as it goes out on a wire without a flag for errors."""
    text = measured(result.content)
    shown = cut_text(text, limits.cut_tokens - _flag_tokens(result.kind, text, count), count)
    return replace(result, content=_with_text(result.content, shown), ref_id="")


def cut_text(text: str, limit: int, count: CountTokens = estimate_tokens) -> str:
    """The head and the tail of `text` with a line between that says how much is left out: within `limit` tokens, always.

    `limit` has room for that line, which is all that is left where there is no room for more.
    """
    if not exceeds(text, limit, count):
        return text
    room = limit - count(_left_out(len(text), len(text)))
    while room > 0:
        head = longest_head(text, int(room * _HEAD_SHARE), count)
        tail = longest_tail(text, room - count(head), count)
        tail = tail[max(len(head) + len(tail) - len(text), 0) :]
        shown = head + _left_out(len(text) - len(head) - len(tail), len(text)) + tail
        over = count(shown) - limit
        if over <= 0:
            return shown
        # The parts fit: a counter may find more in the whole, by a few tokens.
        room -= over
    return _left_out(len(text), len(text)).strip()


def _left_out(characters: int, of: int) -> str:
    return f"\n[… {characters} of {of} characters are left out here …]\n"


def _with_text(content: Iterable[Part], shown: str) -> tuple[Part, ...]:
    return (Text(shown), *(part for part in content if _text_of(part) is None))


# ---- offload -------------------------------------------------------------------------------------


def offloaded(result: ToolResult, ref_id: str, limits: ResultLimits, count: CountTokens = estimate_tokens) -> ToolResult | None:
    """The result as the model reads it when the whole is kept as `ref_id`; None where the limit has no room for that."""
    text = measured(result.content)
    size = f"{len(text)} characters, about {estimate_tokens(text)} tokens"
    before = f"This result is too long to show. It is kept whole as {ref_id}: {size}.\n"
    after = f"\nRead parts of it, or search it, with {RECALL}."
    limit = limits.offload_tokens - _flag_tokens(result.kind, before, count)
    room = limit - count(before) - count(after)
    shown = before + longest_head(summary(text), room, count) + after
    if count(shown) > limit:
        return None
    return replace(result, content=_with_text(result.content, shown), ref_id=ref_id)


def summary(text: str, most: int = SUMMARY_CHARACTERS) -> str:
    """What kind of text it is, how it begins and how it ends, in at most `most` characters."""
    shape = shape_of(text)
    if len(shape) > most // 2:
        shape = shape[: most // 2 - 1] + "…"
    room = most - len(shape) - len("\n") - len("\n…\n")
    head = int(room * _HEAD_SHARE)
    if len(text) <= room:
        return f"{shape}\n{text}"
    return f"{shape}\n{text[:head]}\n…\n{text[len(text) - (room - head) :]}"


# ---- ids -----------------------------------------------------------------------------------------


def new_ref(chance: bytes) -> str:
    """The id of a stored result, of 16 random bytes: nothing that a model or a server said is in it."""
    if len(chance) != REF_BYTES:
        raise ValueError(f"{REF_BYTES} random bytes make an id, got {len(chance)}")
    return "r_" + base64.b32encode(chance).decode().rstrip("=").lower()


def is_ref(value: object) -> bool:
    """Whether it has the form of such an id. What has it is safe as the name of a file."""
    return isinstance(value, str) and _REF.fullmatch(value) is not None


def named(results: Iterable[ToolResult]) -> frozenset[str]:
    """The ids of the stored results that these results stand for."""
    return frozenset(result.ref_id for result in results if is_ref(result.ref_id))


def named_in(turns: Sequence[Turn]) -> frozenset[str]:
    """The ids of the stored results that these turns name, also those in a summary of turns that are gone."""
    found = named(result for turn in turns if isinstance(turn, ToolResultsTurn) for result in turn.results)
    summaries = (hint.text for hint in hints_of(turns) if hint.kind == "summary")
    return found.union(*(_REFS_IN.findall(text) for text in summaries))


def with_known_refs(text: str, known: Collection[str]) -> str:
    """A summary, in which no id stands that what it is a summary of does not name: a summary lets its ids be read."""
    return _REFS_IN.sub(lambda found: found[0] if found[0] in known else "(an id that is not known)", text)
