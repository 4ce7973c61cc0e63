"""What other people's code hands over, and is handed: texts of it that never raise, copies that it may keep."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, cast

from geode.domain.approval import Question
from geode.domain.content import ToolUseBlock

log = logging.getLogger("geode")


def text_of(value: object, how: Callable[[object], str] = str) -> str:
    """`how(value)`, `str` or `repr`, whatever the value's own methods do."""
    with suppress(BaseException):
        return str.__str__(how(value))
    return f"<{kind_of(value)} that has no text>"


def kind_of(value: object) -> str:
    """The name of the type of `value`."""
    with suppress(BaseException):
        return str.__str__(type(value).__name__)
    return "object"


def explained(error: BaseException) -> str:
    """The kind of an exception and its text."""
    return f"{kind_of(error)}: {text_of(error)}"


def trace_of(error: BaseException) -> str:
    """The traceback as text; "" where it cannot be written."""
    with suppress(BaseException):
        return "".join(traceback.format_exception(error))
    return ""


def warn(message: str, error: BaseException | None = None) -> None:
    """Log `message` with the traceback of `error`, or at least its kind and text."""
    if error is not None and not trace_of(error):
        message, error = f"{message}: {explained(error)}", None
    with suppress(Exception):
        log.warning("%s", message, exc_info=error)


class Noted:
    """Inside it, what is raised is logged with `message` and goes no further."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if error is not None:
            warn(self._message, error)
        return True


_PLAIN: Final = frozenset({str, int, float, bool, type(None)})


def copied(value: Any) -> Any:
    """A copy of a JSON value that shares nothing with it."""
    if isinstance(value, dict | Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return {key: item if type(item) in _PLAIN else copied(item) for key, item in items}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def handed(call: ToolUseBlock) -> ToolUseBlock:
    """The call for somebody who may change its arguments: those of the history stay as they are."""
    return ToolUseBlock(call.id, call.name, copied(call.input), call.unparsed)


def handed_question(question: Question) -> Question:
    """The question for somebody who may change the arguments in it."""
    return replace(question, calls=tuple(replace(asked, call=handed(asked.call)) for asked in question.calls))
