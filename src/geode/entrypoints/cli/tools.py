"""From `--tools MODULE:NAME` to the tools it names."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any, Final, cast

from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.domain.errors import Misuse
from geode.domain.naming import closest
from geode.entrypoints.tools import build_tools
from geode.ports.tools import Tool

_FORM: Final = "write MODULE:NAME, for example --tools app:search"
_SHOWN: Final = 12


def load_tools(wanted: Iterable[str]) -> tuple[Tool, ...]:
    """The tools that the arguments name, in order. Misuse names the module, the name and what is there."""
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    return build_tools([tool for text in wanted for tool in _named(text)], validator=JsonschemaValidator())


def _named(text: str) -> list[object]:
    module_name, _, names = text.partition(":")
    if not module_name or not names.strip(", "):
        raise Misuse("tools-argument", f"--tools {text}: names no {'tool' if module_name else 'module'}; {_FORM}")
    module = _module(module_name, text)
    found: list[object] = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        value = _attribute(module, name, text)
        found += cast("Sequence[object]", value) if isinstance(value, list | tuple) else [value]
    return found


def _module(name: str, text: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _broken(name, text, error) from error
        hint = f"; for the file {name} write {name[:-3]}:…" if name.endswith(".py") else ""
        place = f"looked in {os.getcwd()} and among the installed packages"
        raise Misuse("tools-module", f'--tools {text}: there is no module "{error.name}"; {place}{hint}') from error
    except (Exception, SystemExit) as error:
        raise _broken(name, text, error) from error


def _broken(name: str, text: str, error: BaseException) -> Misuse:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return Misuse("tools-module", f'--tools {text}: importing "{name}" failed with {type(error).__name__}: {error}{where}')


def _attribute(module: ModuleType, name: str, text: str) -> Any:
    value = getattr(module, name, None)
    if value is None:
        there = _what_is_there(module)
        close = closest(name, there)
        hint = f"Did you mean {close[0]}? " if close else ""
        shown = ", ".join(there[:_SHOWN]) + (", …" if len(there) > _SHOWN else "")
        place = f'module "{module.__name__}" ({module.__file__})'
        raise Misuse("tools-name", f'--tools {text}: {place} has no "{name}". {hint}There is: {shown or "no function at all"}')
    if not callable(value) and not isinstance(value, list | tuple | Tool):
        kind = type(value).__name__
        raise Misuse("tools-name", f"--tools {text}: {name} is of type {kind}; it must be a function or a list of tools")
    return value


def _what_is_there(module: ModuleType) -> list[str]:
    """Its own functions, and its lists: what may be meant to be a tool."""

    def offered(name: str, value: object) -> bool:
        own = callable(value) and not isinstance(value, type) and getattr(value, "__module__", "") == module.__name__
        return not name.startswith("_") and (own or isinstance(value, Tool | list | tuple))

    return sorted(name for name, value in vars(module).items() if offered(name, value))
