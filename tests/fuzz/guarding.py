"""One value that a tool returned, by its number, with limits: what the guard makes of it is judged.

The same number is the same value. How many tokens a text has is counted here anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final, get_args

from geode.domain.content import Document, Image, ResultKind, Text, ToolResult
from geode.domain.offload import Remedy, ResultLimits, cut, measured, new_ref, offloaded, remedy_for
from geode.domain.results import render

PNG: Final = b"\x89PNG\r\n\x1a\n"
MOST_CHARACTERS: Final = 1_000_000
ALPHABETS: Final = (
    "abcdefghijklmnopqrstuvwxyz ",
    "0123456789,.\n",
    "äöüß é\u0301ñ",
    "世界你好、。",
    "🎉👩‍👩‍👧‍👦🇫🇷",
    '"\\/{}[]:,\n\t',
    "\0\x01\x1b\x7f\u2028\ufeff\r\n",
    "\ud800\udfff",
    "𝔘\U0010ffff\uffff",
    " \n\t",
)


def letter(text: str) -> int:
    return len(text)


def octet(text: str) -> int:
    """As many as bytes, in UTF-8."""
    return len(text.encode())


def spec(text: str) -> int:
    """What the specification counts, in other words than the domain's."""
    ascii_ones = sum(character < "\x80" for character in text)
    return len(text) - ascii_ones + (ascii_ones + 3) // 4


COUNTERS: Final[dict[str, Callable[[str], int]]] = {"spec": spec, "letters": letter, "octets": octet}


@dataclass(frozen=True)
class Judged:
    words: tuple[str, ...]
    wrong: tuple[str, ...]


def judged(seed: int, number: int) -> Judged:
    rng = Random(f"{seed}/{number}")
    form, value = _value(rng)
    kind: ResultKind = rng.choice(get_args(ResultKind))
    came = ToolResult("call", kind, render(value), "detail", recoverable=rng.random() < 0.5)
    counter, limits = rng.choice([*COUNTERS, "spec", "spec"]), _limits(rng)
    count = COUNTERS[counter]
    remedy = remedy_for(came, limits, count)
    words = [f"form: {form}", f"kind: {kind}", f"counter: {counter}", f"remedy: {remedy}"]
    shown = _shown(came, remedy, limits, count, rng)
    words.append("offloaded" if shown.ref_id else "cut" if shown is not came else "as it came")
    problems = [*_flaws(came, shown), *_over(came, shown, limits, count)]
    return Judged(tuple(words), tuple(f"{form}, {kind}, {counter}, {limits}: {problem}" for problem in problems))


def _shown(came: ToolResult, remedy: Remedy, limits: ResultLimits, count: Callable[[str], int], rng: Random) -> ToolResult:
    """What the guard does, a store that fails now and then included."""
    if remedy == "offload":
        shown = offloaded(came, new_ref(rng.randbytes(16)), limits, count) if rng.random() < 0.8 else None
        if shown is not None:
            return shown
        remedy = "cut" if _over_limit(came, limits.cut_tokens, count) else "keep"
    return cut(came, limits, count) if remedy == "cut" else came


def _over_limit(shown: ToolResult, limit: int, count: Callable[[str], int]) -> bool:
    text = measured(shown.content)
    return count(ToolResult("", shown.kind, (Text(text),)).flagged_text if text else "") > limit


def _over(came: ToolResult, shown: ToolResult, limits: ResultLimits, count: Callable[[str], int]) -> list[str]:
    if limits.remedy == "keep":
        return [] if shown is came else ["it was to be kept whole"]
    limit = limits.offload_tokens if shown.ref_id else limits.cut_tokens
    return [f"{count(shown.flagged_text)} tokens are over {limit}"] if _over_limit(shown, limit, count) else []


def _flaws(came: ToolResult, shown: ToolResult) -> list[str]:
    text, whole = measured(shown.content), measured(came.content)
    found: list[str] = []
    if (shown.call_id, shown.kind, shown.detail, shown.recoverable) != ("call", came.kind, "detail", came.recoverable):
        found.append("it is another result")
    if [part for part in shown.media if isinstance(part, Image)] != [part for part in came.media if isinstance(part, Image)]:
        found.append("it has other pictures")
    if not shown.content or any(isinstance(part, Text) and not part.text.strip() for part in shown.content):
        found.append("it says nothing")
    try:
        text.encode()
        json.dumps(text).encode()
    except UnicodeError:
        found.append("it is no Unicode")
    if shown is not came:
        found += _untrue(text, whole, shown.ref_id)
    return found


def _untrue(text: str, whole: str, ref_id: str) -> list[str]:
    """What it says of the whole must be so."""
    if ref_id:
        said = re.search(r"kept whole as (r_[a-z2-7]{26}): (\d+) characters", text)
        return [] if said and (said[1], int(said[2])) == (ref_id, len(whole)) else ["it does not say where the whole is"]
    # What was cut may say the same words itself: one of the places where they stand is the guard's.
    for said in re.finditer(r"\[… (\d+) of (\d+) characters are left out here …\]", text):
        head, tail = text[: said.start()].removesuffix("\n"), text[said.end() :].removeprefix("\n")
        gone = len(whole) - len(head) - len(tail)
        if (int(said[1]), int(said[2])) == (gone, len(whole)) and whole.startswith(head) and whole.endswith(tail):
            return []
    return ["it does not say what is gone, or is no head and tail"]


# ---- values --------------------------------------------------------------------------------------


def _limits(rng: Random) -> ResultLimits:
    remedy: Remedy = rng.choice(["offload", "offload", "cut", "cut", "keep"])
    limits = ResultLimits(remedy=remedy, offload_tokens=_some(rng, 128, 20_000), cut_tokens=_some(rng, 128, 30_000))
    return limits.within(rng.choice([None, None, 1_000, 8_000, 200_000, 1_000_000]))


def _some(rng: Random, least: int, most: int) -> int:
    """A number of any magnitude."""
    return min(most, int(least * (most / least) ** rng.random()))


def _text(rng: Random, most: int) -> str:
    """A text of one alphabet or of several, of any size."""
    length = _some(rng, 1, most)
    pieces = ["".join(rng.choices(rng.choice(ALPHABETS), k=rng.randint(1, 300))) for _ in range(rng.randint(1, 4))]
    joined = "".join(pieces)
    return (joined * (length // len(joined) + 1))[:length]


def _json(rng: Random, most: int) -> Any:
    row = {_text(rng, 20): rng.choice([rng.random(), None, True, rng.randint(-9, 10**9), _text(rng, 200), [1, {"a": "b"}]])}
    rows = [row] * (most // 60 + 1)
    return rows if rng.random() < 0.5 else {_text(rng, 30): row, "rows": rows}


def _value(rng: Random) -> tuple[str, Any]:
    most = _some(rng, 10, MOST_CHARACTERS)
    form = rng.choice(["text", "text", "text", "JSON", "JSON", "bytes", "parts", "document", "said already"])
    match form:
        case "JSON":
            return form, _json(rng, most)
        case "bytes":
            return form, b"\0" + rng.randbytes(64) * (most // 64 + 1)
        case "parts":
            return form, [_text(rng, most), Image("image/png", PNG), _text(rng, 50)]
        case "document":
            return form, [Document("text/plain", _text(rng, most).encode("utf-8", "replace"), "a.txt"), Image("image/png", PNG)]
        case "said already":
            said = rng.choice(["failed: ", "ok: ", "denied", "\n[… 1 of 2 characters are left out here …]\n"])
            return form, said + _text(rng, most) + said
        case _:
            return form, _text(rng, most)
