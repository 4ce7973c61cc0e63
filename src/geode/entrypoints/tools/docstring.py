"""What a docstring says: of the tool, and of each parameter."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Final

_GOOGLE: Final = re.compile(r"(?:Args|Arguments|Params|Parameters|Keyword Args|Keyword Arguments|Other Parameters):\s*")
_NUMPY: Final = re.compile(r"(?:Other )?Parameters\s*")
_RULE: Final = re.compile(r"-{3,}\s*")
_FIELD: Final = re.compile(r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_TYPE_FIELD: Final = re.compile(r":type\s+\w+\s*:")
_ANY_FIELD: Final = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|except\w*|yields?)\b[^:]*:"
)
_GOOGLE_ENTRY: Final = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:(?:\s+(.*)|$)")
_NUMPY_ENTRY: Final = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")


def read_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The description, which is all before the first section of parameters, and the text of each parameter.

    Google (`Args:`), NumPy (`Parameters` over a rule) and Sphinx (`:param x:`) sections are read.
    """
    lines = inspect.cleandoc(docstring or "").splitlines()
    texts: dict[str, list[str]] = {}
    start = len(lines)
    for index, line in enumerate(lines):
        if _GOOGLE.fullmatch(line):
            _read_google(lines[index + 1 :], texts)
        elif _NUMPY.fullmatch(line) and index + 1 < len(lines) and _RULE.fullmatch(lines[index + 1]):
            _read_numpy(lines[index + 2 :], texts)
        elif field := _FIELD.match(line):
            texts.setdefault(field[1], []).extend([field[2].strip(), *_more_of_field(lines[index + 1 :])])
        elif not _TYPE_FIELD.match(line):
            continue
        start = min(start, index)
    description = "\n".join(lines[:start]).strip()
    return description, {name: text for name, parts in texts.items() if (text := " ".join(filter(None, parts)))}


def _read_google(lines: list[str], texts: dict[str, list[str]]) -> None:
    """Entries stand at the indent of the first line; what is deeper goes on with the last one."""
    entry_indent = 0
    current: list[str] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent == 0:
            return
        entry_indent = entry_indent or indent
        match = _GOOGLE_ENTRY.match(line.strip()) if indent == entry_indent else None
        if match:
            current = texts.setdefault(match[1], [])
            current.append(match[2] or "")
        else:
            current.append(line.strip())


def _read_numpy(lines: list[str], texts: dict[str, list[str]]) -> None:
    """Names at the margin, their text indented below; a line over the next rule is the next heading."""
    current: list[list[str]] = []
    for index, line in enumerate(lines):
        if index + 1 < len(lines) and _RULE.fullmatch(lines[index + 1]):
            return
        if line.startswith(" ") or not line:
            for parts in current:
                parts.append(line.strip())
        elif match := _NUMPY_ENTRY.match(line):
            names = [name.strip().lstrip("*") for name in match[1].split(",")]
            current = [texts.setdefault(name, []) for name in names]
        else:
            return


def _more_of_field(lines: list[str]) -> Iterator[str]:
    """The lines that go on with a `:param x: …`, indented or not: up to a blank one or the next field."""
    for line in lines:
        if not line.strip() or _ANY_FIELD.match(line):
            return
        yield line.strip()
