"""The function behind what was given as a tool, and how messages name it."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from geode.domain.errors import Misuse

# What every provider accepts.
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WAY_OUT: Final = "Give a function, a method of an object, an object with an annotated __call__, or a geode.ports.Tool"


@dataclass(frozen=True, slots=True)
class Source:
    """`call` is what is called; `written` is the function whose text was read, behind methods and wrappers."""

    call: Callable[..., Any]
    written: Callable[..., Any]
    name: str
    place: str

    def refuse(self, id: str, message: str) -> NoReturn:
        """Misuse that starts with the tool and where it was written."""
        where = f" ({self.place})" if self.place else ""
        raise Misuse(id, f"tool {self.name}{where}: {message}") from None

    @property
    def docstring(self) -> str | None:
        """What the function says of itself; for an object, else what its class says."""
        own = self.written.__doc__
        kind = type(self.call)
        if own or self.written is not kind.__call__ or (kind.__doc__ or "").startswith(f"{kind.__name__}("):
            return own  # a dataclass without a docstring is given its signature for one
        return kind.__doc__

    @property
    def is_async(self) -> bool:
        """Whether what it gives comes on the event loop: an awaitable, or items one by one."""
        tests = inspect.iscoroutinefunction, inspect.isasyncgenfunction
        return any(test(function) for test in tests for function in (self.call, self.written))


def source_of(value: object, name: str | None = None) -> Source:
    """The source of `value`, called `name` if that is given. Misuse `not-a-tool` for what is none."""
    if inspect.isclass(value):
        name = value.__name__
        raise Misuse("not-a-tool", f"tools= has the class {name}, which is no tool. Give an object: {name}(…)")
    if not callable(value):
        shown = f"{repr(value)[:80]} of type {type(value).__name__}"
        raise Misuse("not-a-tool", f"tools= has {shown}, which is no tool. {_WAY_OUT}")
    written = _written(value)
    source = Source(value, written, _name_of(value) if name is None else name, _place(written))
    if not _NAME.fullmatch(source.name):
        source.refuse("tool-name", "a name has 1 to 64 of A-Z a-z 0-9 _ -. Give it one: @tool(name=…)")
    return source


def _written(value: Any) -> Callable[..., Any]:
    while True:
        if isinstance(value, functools.partial):
            value = value.func
        elif inspect.ismethod(value):
            value = value.__func__
        elif hasattr(value, "__wrapped__"):
            value = inspect.unwrap(value)
        elif inspect.isroutine(value):
            return value
        else:
            value = type(value).__call__


def _name_of(value: Any) -> str:
    if isinstance(value, functools.partial):
        return _name_of(value.func)
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else type(value).__name__


def _place(written: Callable[..., Any]) -> str:
    code = getattr(written, "__code__", None)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else ""
