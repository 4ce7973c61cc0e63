"""Making a conversation shorter: where it may be cut, and what stands in the place of what was before the cut.

A cut parts no call from its result (spec section 3, law 7) and no prompt from its answer. What comes after it stays word
for word, and so does the last prompt, also where the cut comes after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from geode.domain.content import Document, DocumentUrl, Image, ImageUrl, Part, Text
from geode.domain.conversation import Conversation
from geode.domain.json_value import dump_json
from geode.domain.offload import named_in, with_known_refs
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.turns import AssistantTurn, Hint, ToolResultsTurn, Turn, UserTurn, parts_of, visible

NOTHING_TO_LEAVE_OUT: Final = "nothing before the latest turns can be left out"
INSTRUCTION: Final = (
    "Our conversation is getting too long and goes on from a summary. Write that summary now, of everything before this "
    "message and for yourself: what was asked for, in the words that matter; what was decided and why; what was done and "
    "what came of it; names, paths, numbers, ids and references to stored results exactly as they were; what is left to do. "
    "If there is an earlier summary, keep what still matters of it. Call no tools and answer with the summary alone."
)
_HEADING: Final = "[Summary of the conversation before this point, which was too long to be kept whole]"


def cut_points(turns: Sequence[Turn]) -> tuple[int, ...]:
    """The places at which what is kept may begin: where the user begins to speak, and after each closed round."""
    return tuple(place for place in range(1, len(turns)) if _may_begin(turns[place - 1], turns[place]))


def _may_begin(before: Turn, turn: Turn) -> bool:
    match turn:
        case UserTurn():
            # One that says nothing is not sent: the replies around it are one.
            return bool(visible(turn.items, turn.hints)) and not isinstance(before, UserTurn)
        case AssistantTurn():
            return isinstance(before, ToolResultsTurn)
        case ToolResultsTurn():
            return False


def cut_for(turns: Sequence[Turn], keep_rounds: int, *, or_fewer: bool = False) -> int | None:
    """The latest place from which on there are `keep_rounds` replies of the model, while a reply comes before it; where
    there is none, with `or_fewer` the one after which there are the most of them. None where no cut leaves out any."""
    useful = _useful_cuts(turns)
    enough = [cut for cut in useful if sum(map(_is_reply, turns[cut:])) >= keep_rounds]
    return next(iter(enough[-1:] or (useful[:1] if or_fewer else ())), None)


def halfway(turns: Sequence[Turn]) -> int | None:
    """The last place in the first half that leaves out a reply, else the first one after it; None where there is none."""
    useful = _useful_cuts(turns)
    early = [cut for cut in useful if 2 * cut <= len(turns)]
    return next(iter(early[-1:] or useful[:1]), None)


def _useful_cuts(turns: Sequence[Turn]) -> list[int]:
    """The places before which there is a reply that can be left out."""
    return [cut for cut in cut_points(turns) if any(map(_is_reply, turns[:cut]))]


def _is_reply(turn: Turn) -> bool:
    return isinstance(turn, AssistantTurn)


def shortened(conversation: Conversation, cut: int, summary: str) -> Conversation:
    """`conversation` with the summary in the place of the turns before `cut`; the last prompt stays in any case."""
    before, after = conversation.turns[:cut], conversation.turns[cut:]
    prompts = () if any(map(_is_prompt, after)) else tuple(filter(_is_prompt, before))[-1:]
    told = UserTurn((), (Hint("summary", with_known_refs(summary_text(before, prompts, summary), named_in(before))),))
    return Conversation((told, *prompts, *after))


def summary_text(before: Sequence[Turn], kept: Sequence[Turn], summary: str) -> str:
    """What the model reads instead of `before`, of which `kept` stays: the summary, and what no words can stand for."""
    gone = media_told(part for turn in before if turn not in kept for part in parts_of(turn))
    return "\n\n".join(filter(None, (_HEADING, summary.strip(), gone)))


def text_of(turns: Iterable[Turn]) -> str:
    """What is said, called and answered in `turns`, for estimating how much that is."""
    return "\n".join(line for turn in turns for line in _lines(turn))


def _lines(turn: Turn) -> Iterator[str]:
    match turn:
        case AssistantTurn():
            yield turn.text
            yield from (f"{call.name} {dump_json(call.input)}" for call in turn.calls)
        case UserTurn():
            yield turn.text
            yield from turn.hints
        case ToolResultsTurn():
            yield from (result.text for result in turn.results)
            yield from turn.hints


def media_told(parts: Iterable[Part]) -> str:
    """Which pictures and documents cannot be seen any more; "" for none."""
    pictures, documents = 0, list[str]()
    for part in parts:
        match part:
            case Image() | ImageUrl():
                pictures += 1
            case Document(name=name) | DocumentUrl(name=name):
                documents.append(name or "a document without a name")
            case Text():
                pass
    told = [*([f"{pictures} picture{'s' if pictures > 1 else ''}"] if pictures else []), *documents]
    return f"[Left out with it, and not to be seen any more: {', '.join(told)}]" if told else ""


def unusable(reply: AdapterCallResult) -> str:
    """Why the reply is no summary; "" for one that is."""
    if reply.calls:
        return "the model called tools instead of writing a summary"
    if reply.stop not in (Stop.END, Stop.TOOL_CALLS):  # servers mix up these two words
        return f"the summary broke off: {reply.stop_word or reply.stop.value}"
    return "" if reply.text.strip() else "the summary is empty"


def _is_prompt(turn: Turn) -> bool:
    """Whether somebody asks something in it: geode's own hints are no prompts."""
    return isinstance(turn, UserTurn) and bool(visible(turn.items))
