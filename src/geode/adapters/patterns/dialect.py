"""From the patterns that people write (ECMA-262, as JSON Schema has them, or Python's) to those of `regex`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MAX_PATTERN_CHARS: Final = 8_192
# What the pattern is written out to when it is compiled: `a{1000}` becomes a thousand parts, and each repeated
# group doubles what it holds. 20,000 take about 20 ms; without a bound, 12 characters can take all memory.
MAX_PARTS: Final = 20_000

_QUANTIFIER: Final = r"(?:[*+?]|\{\d+(?:,\d*)?\}|\{,\d+\})[?+]?"
_ESCAPE: Final = (
    r"\\u\{[0-9A-Fa-f]{1,6}\}|\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}"
    r"|\\c[A-Za-z]|\\k<\w+>|\\[pPN]\{[^}]*\}|\\."
)
_TOKEN: Final = re.compile(
    rf"(?P<escape>{_ESCAPE})"
    r"|(?P<empty>\[\^?\](?=[^\]]*\Z))"
    r"|(?P<set>\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*+(?:\]|\\?\Z))"
    r"|(?P<comment>\(\?#[^)]*\))|(?P<open>\((?:\?(?:[:=!>]|<[=!]|P?<\w+>)?)?)|(?P<close>\))"
    rf"|(?P<quantifier>{_QUANTIFIER})|(?P<end>\$)|(?P<brace>[{{}}])|(?P<other>.)",
    re.DOTALL,
)
# A hyphen beside a kind of characters stands for itself, as in `[\w-.]`, and so does a bracket.
_IN_SET: Final = re.compile(
    rf"(?P<kind>\\[dDwWsS]|\\[pP]\{{[^}}]*\}})-|-(?=\\[dDwWsSpP])|(?P<escape>{_ESCAPE})|(?P<posix>\[:\^?\w+:\])|(?P<bracket>\[)",
    re.DOTALL,
)
_LOWEST: Final = re.compile(r"\{(\d*)")
# Groups of these kinds match once, where they stand.
_PLAIN_GROUP: Final = re.compile(r"\((?!\?)|\(\?(?::|=|!|<|P<)")
UNKNOWN: Final = 1_000


@dataclass(frozen=True, slots=True)
class Translated:
    """A pattern for `regex`.

    In a text of n characters its search takes some (n + 1) ^ (`choices` + 1) × `parts` steps at most: one power for
    the place where it begins and one for each choice. UNKNOWN where a group repeats, for then there is no such bound.
    """

    form: str
    choices: int
    parts: int


def translated(pattern: str, *, lines: bool) -> Translated:
    r"""`pattern` for `regex`. ValueError for one that is too big to be compiled.

    `$` is the end of the text, not the place before a last line break too; with `lines`, or the flag `(?m)`, the
    end of a line. `\u{…}`, `\cX`, `\k<name>`, `[^]` and pairs of surrogates mean what they mean in ECMA-262, a
    brace that repeats nothing is a brace. `\d`, `\w`, `\s` and `\b` go by Unicode, as they do in Python.
    """
    if len(pattern) > MAX_PATTERN_CHARS:
        raise ValueError(f"a pattern has at most {MAX_PATTERN_CHARS} characters, this one has {len(pattern)}")
    end = "$" if lines or re.match(r"\(\?[a-zA-Z]*m", pattern) else r"\Z"
    parts, written = _Parts(), list[str]()
    for token in _TOKEN.finditer(pattern):
        kind, text = token.lastgroup, token[0]
        parts.read(kind, text)
        if kind == "open" and not _PLAIN_GROUP.match(pattern, token.start()):
            parts.choices = UNKNOWN
        match kind:
            case "escape":
                written.append(_escape(text))
            case "empty":
                written.append(r"[\s\S]" if "^" in text else "(?!)")
            case "set" if text.endswith("]"):
                inner = text[1:-1]
                inverted = inner.startswith("^")
                written.append(f"[{'^' * inverted}{_IN_SET.sub(_in_set, inner[inverted:])}]")
            case "end":
                written.append(end)
            case "brace":
                written.append(f"\\{text}")
            case _:
                written.append(text)
    return Translated("".join(written), parts.choices, parts.check())


class _Parts:
    """Counts what a pattern is written out to, and its choices. The depth of groups is bounded by the parser's recursion."""

    def __init__(self) -> None:
        self._open: list[int] = [0]
        self._last = 0
        self._is_group = False
        self.choices = 0

    def read(self, kind: str | None, text: str) -> None:
        if kind == "open":
            self._open.append(0)
            return
        if kind == "quantifier":
            lowest = _LOWEST.match(text)
            digits = lowest[1] if lowest else ""
            times = max(int(digits[:6] or 0) if len(digits) <= 6 else MAX_PARTS + 1, 2 if self._is_group else 1)
            self._open[-1] += self._last * (times - 1)
            self._last *= times
            self.choices += UNKNOWN if self._is_group else 1
            return
        self.choices += text == "|"
        self._is_group = kind == "close" and len(self._open) > 1
        self._last = max(self._open.pop(), 1) if self._is_group else 1
        self._open[-1] += self._last

    def check(self) -> int:
        """How many there are; ValueError where they are too many."""
        count = sum(self._open)
        if count > MAX_PARTS:
            raise ValueError(f"the pattern repeats too much: written out it has more than {MAX_PARTS} parts")
        return count


def _escape(text: str) -> str:
    if text.startswith("\\u{"):
        point = int(text[3:-1], 16)
        if point > 0x10FFFF:
            raise ValueError(f"{text} is no character")
        return f"\\U{point:08x}"
    if text.startswith("\\k<"):
        return f"(?P={text[3:-1]})"
    if text.startswith("\\c") and len(text) == 3:
        return f"\\x{ord(text[2]) % 32:02x}"
    if len(text) == 12:
        high, low = int(text[2:6], 16), int(text[8:], 16)
        return f"\\U{0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF):08x}"
    return text


def _in_set(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "kind":
            return f"{found['kind']}\\-" if found.end() < len(found.string) else found[0]
        case "escape":
            return _escape(found[0])
        case "posix":
            return found[0]
        case "bracket":
            return "\\["
        case _:
            return "\\-"
