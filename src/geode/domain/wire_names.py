"""Names as the wires take them: what fits goes out as it is, anything else under a name that is its own.

The names are pure functions of the originals, so definitions, choice and history agree.
Source: wire facts A1 (alphabets and lengths of tool names and of Anthropic's top-level properties).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Final

_LENGTH: Final = 64
_HASH: Final = 10
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_OF_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NOT_OF_KEYS = re.compile(r"[^A-Za-z0-9_.-]")


def sent_name(name: str) -> str:
    """The name under which a tool goes out, and every call of it: `[A-Za-z0-9_-]{1,64}`, whatever `name` is.

    A fitting name is itself; another one ends in ten hexadecimal digits of its SHA-256, so that no two
    of them share one. Against a fitting name that looks like such a one there is `clash`.
    """
    return name if _NAME.fullmatch(name) else _made(name, _NOT_OF_NAMES)


def sent_key(key: str) -> str:
    """The same for a top-level property, in the alphabet `[A-Za-z0-9_.-]{1,64}`."""
    return key if _KEY.fullmatch(key) else _made(key, _NOT_OF_KEYS)


def clash(names: Iterable[str], sent: Callable[[str], str]) -> tuple[str, str] | None:
    """The first two of `names` that would go out as one, equal ones included."""
    seen: dict[str, str] = {}
    for name in names:
        wire = sent(name)
        if wire in seen:
            return seen[wire], name
        seen[wire] = name
    return None


def _made(name: str, unfit: re.Pattern[str]) -> str:
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_HASH]
    return f"{unfit.sub('_', name[: _LENGTH - _HASH - 1])}_{digest}"
