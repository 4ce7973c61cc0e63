"""A loopback model server that plays a script in the grammar of three wires and judges what it is sent.

It is an independent witness: it shares no code with the adapters. Judging a request (`check`,
`laws`) needs nothing but the standard library; the server (`Emulator`, `running`, …) needs the
extra `emulator` and is loaded when first named.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from geode.entrypoints.emulator.laws import LAWS, laws
from geode.entrypoints.emulator.render import Dialect, Exchange, Protocol, ScriptError
from geode.entrypoints.emulator.rule import Quirk, Rule, Violation
from geode.entrypoints.emulator.rules import RULES, check, dialect_of, verdict

if TYPE_CHECKING:
    from geode.entrypoints.emulator.run import Running, running, running_in_thread, serve
    from geode.entrypoints.emulator.server import Emulator, Received, build_app

__all__ = [
    "LAWS",
    "RULES",
    "Dialect",
    "Emulator",
    "Exchange",
    "Protocol",
    "Quirk",
    "Received",
    "Rule",
    "Running",
    "ScriptError",
    "Violation",
    "build_app",
    "check",
    "dialect_of",
    "laws",
    "running",
    "running_in_thread",
    "serve",
    "verdict",
]

_LAZY = {
    **dict.fromkeys(("Running", "running", "running_in_thread", "serve"), ".run"),
    **dict.fromkeys(("Emulator", "Received", "build_app"), ".server"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(_LAZY[name], __name__)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise ImportError(f"{name} needs the extra 'emulator': pip install 'geode[emulator]'") from error
    return getattr(module, name)
