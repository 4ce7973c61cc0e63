"""One server for all the emulators of a test process: starting one for each test takes longer than the test."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from itertools import count
from typing import Final
from weakref import WeakValueDictionary

from starlette.types import Receive, Scope, Send

from geode.entrypoints.emulator import Emulator, build_app
from geode.entrypoints.emulator.run import LOOPBACK, app_in_thread

_EMULATORS: Final[WeakValueDictionary[int, Emulator]] = WeakValueDictionary()
_NUMBERS: Final = count()
_PORTS: Final[list[int]] = []


async def _switch(scope: Scope, receive: Receive, send: Send) -> None:
    """The first part of a path says whose emulator answers."""
    _, number, rest = scope["path"].split("/", 2)
    await build_app(_EMULATORS[int(number)])({**scope, "path": f"/{rest}"}, receive, send)


def serve(emulator: Emulator) -> str:
    """The address of `emulator`, for as long as it is kept, on a server that ends with the process."""
    if not _PORTS:
        open = ExitStack()
        _PORTS.append(open.enter_context(app_in_thread(_switch)))
        atexit.register(open.close)
    number = next(_NUMBERS)
    _EMULATORS[number] = emulator
    return f"http://{LOOPBACK}:{_PORTS[0]}/{number}"
