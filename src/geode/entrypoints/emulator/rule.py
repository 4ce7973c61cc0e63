"""What a rule and a breach of it are, and the few words in which checks are written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from geode.entrypoints.emulator.render import Dialect

Request: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[str | int, ...]
Finding: TypeAlias = tuple[str, Path, str]
# What one compatible Chat server refuses that others of its dialect take: the rules under `chat.quirk.`.
Quirk: TypeAlias = Literal[
    "tools",
    "tool_messages",
    "forced_choice",
    "named_choice",
    "null_content",
    "empty_content",
    "absent_content",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "result_parts",
    "pictures",
]

# The `anthropic-version` from which sampling and documents of the assistant are gone.
WITHOUT_SAMPLING: Final = "2026-10-21"
LARGE: Final = 10**18
QUOTED: Final = 80


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that a real server refuses, or that geode refuses itself, with where that is known from.

    `dialects` are those in which it is enforced; none means all of its wire.
    """

    id: str
    says: str
    source: str
    status: int = 400
    error_type: str | None = "invalid_request_error"
    error_code: str | None = None
    dialects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """A breach: which rule, where in the request (JSON pointer), and what the server answers."""

    rule: str
    at: str
    message: str
    status: int = 400
    error_type: str | None = "invalid_request_error"
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server knows beside the body.

    None means unknown, and unknown is not judged. `version` is the `anthropic-version` header, empty
    when it is absent; `signatures` are the signatures and encrypted blobs this server issued, and
    `prefixes` says what stood before each when it was issued (see `bound`); `responses` are the ids of
    responses it stored, and `paused` the texts of turns that it paused, which may come back as they
    are; `reasoned` are the ids of items it made together with reasoning; `models` are the names that it
    serves; `size` is the length of the body in bytes, at least that of its texts where it is unknown;
    `quirks` are what this server refuses beside.
    """

    dialect: Dialect
    version: str | None = None
    signatures: frozenset[str] | None = None
    prefixes: Mapping[str, frozenset[str]] | None = None
    responses: frozenset[str] | None = None
    paused: frozenset[str] = frozenset()
    reasoned: frozenset[str] = frozenset()
    models: frozenset[str] | None = None
    size: int | None = None
    quirks: frozenset[Quirk] = frozenset()


def pointer(path: Path) -> str:
    """`("messages", 2, "content")` -> `/messages/2/content` (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def param(at: str) -> str | None:
    """The way OpenAI names a place: `/messages/2/content` -> `messages[2].content`."""
    text = ""
    for part in at.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        text += f"[{name}]" if name.isdigit() else f".{name}" if text else name
    return text or None


def listed(value: Any) -> list[Any]:
    """`value` if it is a list, else nothing to look at: another rule judges the type."""
    return value if isinstance(value, list) else []


def mapped(value: Any) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a list with their places."""
    return ((place, item) for place, item in enumerate(listed(value)) if isinstance(item, dict))


def ident(value: Any) -> str:
    """An id as text that can be compared and kept, whatever was sent in its place.

    Objects and lists are all alike: none of them is an id, and their text may be endless.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        # Python refuses to write a huge integer in decimals.
        return str(value) if abs(value) < LARGE else hex(value)
    return f"<{type(value).__name__}>" if isinstance(value, dict | list) else repr(value)


def shown(value: Any) -> str:
    """A value as a message quotes it: short, whatever was sent."""
    text = ident(value)
    return text if len(text) <= QUOTED else text[: QUOTED - 1] + "…"


def number(value: Any) -> float | None:
    """`value` if it is a number; booleans are none, and a huge integer is as good as infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) or abs(value) < LARGE:
        return float(value)
    return math.inf if value > 0 else -math.inf


def fits(pattern: str, value: Any) -> bool:
    """Is `value` a string that matches the whole pattern?"""
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


CheckFunction: TypeAlias = Callable[[Request, Facts], Iterator[Finding]]
