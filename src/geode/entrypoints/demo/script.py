"""What the scripted model does. It is written after a look at the folder, so every word and argument is true."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from geode.domain.script import Reply, Script, calls, says, thinks
from geode.entrypoints.demo.folder import Folder

QUESTION: Final = "What is in this folder? Look around, draw its largest parts, write me a short report."
SYSTEM: Final = "You explore a folder with tools. Be brief, and only say what you have seen."
_SHOWN: Final = 6


def script(folder: Folder) -> Script:
    """Five replies: look around, a wrong turn, a picture, a report, the answer."""
    first, largest, missing, text = folder.to_read_first(), folder.largest(), folder.not_there(), folder.to_find()
    found = folder.find(text)
    places = len({file.path for file, _, _ in found})
    where = f"{len(folder.files)} text files, {folder.lines:,} lines"
    steps = (
        thinks("Three looks that do not depend on each other: all at once.")
        + says(f"First a look around: the files, where “{text.strip()}” stands, and {first.path}.")
        + calls(("list_files", {}), ("search_text", {"text": text}), ("read_file", {"path": first.path})),
        says(f"{where}. Is there a plan? And the largest program is {largest.path}.")
        + calls(("read_file", {"path": missing}), ("read_file", {"path": largest.path, "last_line": 12})),
        thinks("No plan there. That is no reason to stop.")
        + says(f"There is no {missing}; it can do without. Now a picture of the largest parts.")
        + calls(("draw_chart", {"by": "lines", "top": 8})),
        says("I have seen enough for the report.")
        + calls(("write_report", {"title": f"What is in {folder.root.name}", "text": _report(folder, text)})),
        says(
            f"{folder.root.name} holds {where}. “{text.strip()}” stands in {len(found):,} lines of {places} files. "
            f"The largest program is {largest.path} with {largest.lines:,} lines. The report and a chart are written."
        ),
    )
    return tuple(_with_tokens(step, number) for number, step in enumerate(steps))


def _report(folder: Folder, text: str) -> str:
    rows = "\n".join(f"| {name} | {lines:,} |" for name, lines in folder.sizes("lines", _SHOWN))
    found = folder.find(text)
    first = "\n".join(f"- `{file.path}:{number}` {line[:80]}" for file, number, line in found[:_SHOWN])
    return (
        f"{len(folder.files)} text files with {folder.lines:,} lines.\n\n"
        f"| folder | lines |\n|---|---:|\n{rows}\n\n"
        f"“{text.strip()}” stands in {len(found):,} lines, first in:\n\n{first}"
    )


def _with_tokens(reply: Reply, number: int) -> Reply:
    """Counts as they might be: the input grows with the conversation."""
    return replace(reply, input_tokens=480 + 900 * number, output_tokens=60 + 12 * len(reply.items))
