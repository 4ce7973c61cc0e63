"""Helpers for tests of applications; their public names are in `geode.testing`."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn

from geode.entrypoints.routes.session_models import default
from geode.entrypoints.runtime import ChecksItsEnd
from geode.ports.model import ModelAdapter


@contextmanager
def default_model(model: str | ModelAdapter) -> Iterator[None]:
    """Inside it, sessions that name no model use this one; what is configured is not looked at.

    One ScriptedModel may serve several sessions: that it was played to its end is checked at the end of this.
    """
    before, default.value = default.value, model
    try:
        yield
    finally:
        default.value = before
    if isinstance(model, ChecksItsEnd):
        model.finish()


class NetworkUsed(BaseException):
    """Something opened a connection although the test forbids it.

    Not an Exception, so that no library on the way takes it for a failed connection and tries again.
    """


@contextmanager
def no_network() -> Iterator[None]:
    """Inside it, connecting a socket, loopback included, and looking up a name or an address raise NetworkUsed."""

    from unittest import mock

    def refuse(*target: Any, **_named: Any) -> NoReturn:
        raise NetworkUsed(f"a connection to {target[-1]!r} was attempted inside no_network()")

    def refuse_lookup(host: Any, *_more: Any, **_named: Any) -> NoReturn:
        raise NetworkUsed(f"the name {host!r} was looked up inside no_network()")

    with ExitStack() as patched:
        for method in ("connect", "connect_ex", "sendto"):
            patched.enter_context(mock.patch.object(socket.socket, method, refuse))
        for lookup in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
            patched.enter_context(mock.patch.object(socket, lookup, refuse_lookup))
        yield
