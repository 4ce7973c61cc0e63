"""A script as JSON, for files and command lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast, get_args

from geode.domain.script import (
    Called,
    DropPoint,
    MalformedKind,
    Reply,
    Script,
    Step,
    calls,
    cut,
    drops,
    fails,
    hangs,
    is_status,
    malformed,
    pauses,
    refuses,
    says,
    thinks,
)

STEP_WORDS: Final = ("says", "thinks", "calls", "refuses", "pauses", "cut", "fails", "hangs", "drops", "malformed")

_ALONE: Final = ("fails", "hangs", "drops", "malformed")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_call(value: object) -> bool:
    match value:
        case [str(), Mapping() | str() | None] | [str(), Mapping() | str() | None, str() | None]:
            return not isinstance(value, str)
        case _:
            return False


def _are_calls(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_call, cast("Sequence[object]", value)))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _one_of(*known: str) -> tuple[Callable[[object], bool], str]:
    return (lambda value: isinstance(value, str) and value in known), f"one of {', '.join(known)}"


_TEXT: Final = (_is_text, "a text")
_YES: Final = (lambda value: value is True or value is False, "true")
# What each word of a step takes: the steps themselves, then their details.
_TAKES: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    **dict.fromkeys(("says", "thinks", "refuses", "pauses"), _TEXT),
    "calls": (_are_calls, "a list of [name, arguments] or [name, arguments, id]"),
    **dict.fromkeys(("cut", "hangs"), _YES),
    "fails": (is_status, "a status number"),
    "drops": _one_of(*get_args(DropPoint)),
    "malformed": _one_of(*get_args(MalformedKind)),
    **dict.fromkeys(("category", "code", "message"), _TEXT),
    "retry_after": (lambda value: _is_text(value) or isinstance(value, int | float), "a number of seconds, or a text"),
    "body": (lambda value: isinstance(value, Mapping | str), "an object or a text"),
    **dict.fromkeys(("input_tokens", "output_tokens"), (_is_count, "a whole number of 0 or more")),
}


def script_from_json(steps: Sequence[Any]) -> Script:
    """Read a script written as JSON: `[{"says": "hi"}, {"calls": [["read", {"path": "a"}]]}, {"fails": 529}]`.

    Keys of one object are joined into one reply (`{"thinks": …, "says": …, "calls": …, "cut": true}`).
    Raises ValueError that names the step's number, the word, and what is accepted.
    """
    return tuple(_step(number, step) for number, step in enumerate(steps, 1))


def _step(number: int, step: Any) -> Step:
    words = cast("Mapping[str, Any]", step) if isinstance(step, Mapping) else {}
    unknown = [word for word in words if word not in _TAKES]
    if unknown:
        raise ValueError(f"script step {number} has unknown {', '.join(unknown)}; accepted: {', '.join(_TAKES)}")
    if not set(STEP_WORDS).intersection(words):
        raise ValueError(f"script step {number} must be an object with one of: {', '.join(STEP_WORDS)}")
    for word, value in words.items():
        fits, wanted = _TAKES[word]
        if not fits(value):
            raise ValueError(f"script step {number}: {word} takes {wanted}, got {value!r:.80}")
    alone = next((word for word in _ALONE if word in words), None)
    if alone is None:
        return _reply(words)
    beside = [word for word in STEP_WORDS if word in words and word != alone]
    if beside:
        raise ValueError(f"script step {number}: {alone} is a step of its own, without {', '.join(beside)}")
    return _broken(alone, words)


def _broken(word: str, words: Mapping[str, Any]) -> Step:
    match word:
        case "fails":
            named = {name: words[name] for name in ("code", "message", "retry_after") if name in words}
            return fails(words["fails"], words.get("body"), **named)
        case "drops":
            return drops(words["drops"])
        case "malformed":
            return malformed(words["malformed"])
        case _:
            return hangs()


def _reply(words: Mapping[str, Any]) -> Reply:
    reply = Reply()
    if "thinks" in words:
        reply += thinks(words["thinks"])
    if "says" in words:
        reply += says(words["says"])
    if "calls" in words:
        reply += calls(*(Called(*one) for one in words["calls"]))
    if "refuses" in words:
        reply += refuses(words["refuses"], words.get("category", "general_harms"))
    if "pauses" in words:
        reply += pauses(words["pauses"])
    if words.get("cut"):
        reply = cut(reply)
    counts = {name: words[name] for name in ("input_tokens", "output_tokens") if name in words}
    return replace(reply, **counts)
