"""What the picker shows: the state as lines of styled text, cut to the width that there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prompt_toolkit.formatted_text import StyleAndTextTuples

from geode.domain.picking import ROLES, ModelChoice, Picker
from geode.entrypoints.cli.words import short

HELP: Final = "↑↓ model  ←→ effort  Tab role  Space stage  Enter apply all  Esc change nothing"
LEAVES_OUT: Final = "Backspace leaves the effort out"
_NO_CONTROL: Final = "this model has no effort control: none is sent to it, and the stored one is kept"
_NOT_KNOWN: Final = "no effort control is known of this model: none is sent to it, and the stored one is kept"
_AS_PRIMARY: Final = "the primary model"


def roles_line(picker: Picker) -> StyleAndTextTuples:
    """The roles, the one that is picked for between brackets, with the model that Enter would give to each."""
    found: StyleAndTextTuples = []
    for role in ROLES:
        current = role == picker.role
        staged = "*" if role in picker.staged_roles else ""
        found += [("bold" if current else "", f"[{role}{staged}]" if current else f" {role}{staged} "), ("", " ")]
    return found


def row_lines(picker: Picker, width: int) -> StyleAndTextTuples:
    """One line for each model."""
    rows = picker.rows
    wide = min(max((len(_name(row)) for row in rows), default=0), max(width // 2, 12))
    found: StyleAndTextTuples = []
    for place, row in enumerate(rows):
        mark = ">" if place == picker.cursor else " "
        style = "reverse" if place == picker.cursor else "ansigray" if row is not None and row.unusable else ""
        model = None if row is None else row.id
        of_role = picker.staged.of(picker.role)
        stood = "*" if model == of_role and picker.role in picker.staged_roles else "·" if model == of_role else " "
        text = f"{mark}{stood} {short(_name(row), wide).ljust(wide)}  {_about(row)}"
        found += [(style, short_line(text, width)), ("", "\n")]
    return found[:-1]


def effort_line(picker: Picker) -> StyleAndTextTuples:
    """The words that the model under the cursor takes; for a role that inherits, which one it would inherit.

    A model without effort control shows no control, and says so where an effort is stored.
    """
    here, effort = picker.here, picker.effort
    if here is not None and not here.efforts:
        return [] if effort is None else [("ansigray", _NOT_KNOWN if here.efforts is None else _NO_CONTROL)]
    if picker.role != "primary":
        return [] if effort is None else [("", f"effort {effort}, as the primary model")]
    words = picker.efforts_shown
    if words:
        shown: StyleAndTextTuples = [("bold", f"[{word}]") if word == effort else ("", f" {word} ") for word in words]
        return [("", "effort "), *shown, ("", "" if effort else " (the model's own default)")]
    return []


def reason_line(picker: Picker) -> StyleAndTextTuples:
    """Why Enter is blocked, and what to do."""
    why = picker.unfit
    if not why:
        return []
    effort_stands_in_the_way = picker.role == "primary" and picker.effort is not None and "effort" in why
    return [("ansired", f"blocked: {why}" + (f". {LEAVES_OUT}" if effort_stands_in_the_way else ""))]


def short_line(text: str, width: int) -> str:
    """`text` cut to `width`, its columns kept."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def _name(row: ModelChoice | None) -> str:
    return _AS_PRIMARY if row is None else row.id


def _about(row: ModelChoice | None) -> str:
    return "" if row is None else "  ".join(_facts(row))


def _facts(row: ModelChoice) -> Iterator[str]:
    if row.unusable:
        yield f"({short(row.unusable, 60)})"
        return
    if row.adapter:
        yield row.adapter
    if row.window is not None:
        yield window_text(row.window)
    if row.note:
        yield short(row.note, 60)


def window_text(tokens: int) -> str:
    """`200k`, `1M`, `1.05M`"""
    if tokens < 1_000_000:
        return f"{tokens / 1000:.0f}k"
    return f"{tokens / 1_000_000:.2f}".rstrip("0").rstrip(".") + "M"
