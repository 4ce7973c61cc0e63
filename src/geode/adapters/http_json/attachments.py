"""Media of results that stand after all results, where a wire has no other place for them, and their way back.

In the result a line says so, and before the media one that names the result.
"""

from __future__ import annotations

import re
from typing import Final

from geode.domain.content import SILENT, Media, Part, Text, ToolResult

_LABEL: Final = "Attachments of the result of "
_STUB: Final = re.compile(r"\n?\[(\d+) attachment\(s\), after the tool results\]$")


def label_of(id: str) -> str:
    """What stands before the media of the result of the call `id`."""
    return f"{_LABEL}{id}:"


def with_stub(text: str, count: int) -> str:
    """`text` of a result, and the line about its media, which stand elsewhere."""
    stub = f"[{count} attachment(s), after the tool results]"
    return f"{text}\n{stub}" if text else stub


def reunited(results: list[ToolResult], parts: list[Part]) -> list[Part]:
    """Put the media after a line that names one of `results` into it, as many as it says it has.

    What is left of `parts` was said by the user.
    """
    stubs = [_STUB.search(result.text) for result in results]
    places = {label_of(result.call_id): at for at, result in enumerate(results) if stubs[at]}
    missing = [int(stub[1]) if stub else 0 for stub in stubs]
    media: dict[int, list[Media]] = {}
    taken, at = 0, None
    for part in parts:
        if isinstance(part, Text):
            at = places.get(part.text)
        elif at is not None and missing[at]:
            missing[at] -= 1
            media.setdefault(at, []).append(part)
        else:
            at = None
        if at is None:
            break
        taken += 1
    for place, attached in media.items():
        results[place] = _with_media(results[place], attached)
    return parts[taken:]


def _with_media(result: ToolResult, media: list[Media]) -> ToolResult:
    """The result with its media, without the words that stood for them."""
    text = _STUB.sub("", result.text)
    said = () if text in ("", SILENT, result.kind) else (Text(text),)
    return ToolResult(result.call_id, result.kind, (*said, *media))
