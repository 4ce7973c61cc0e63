"""How requests to a server fail, and how connections end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class End:
    """How a connection ended, as it follows the name of the server; `last_words` were on its standard error."""

    how: str
    last_words: str = ""

    def told(self, server: str, during: str = "") -> str:
        """For operators: what ended, how, during what, and what it said last."""
        words = f'; last stderr: "{self.last_words}"' if self.last_words else ""
        return f'MCP server "{server}" {self.how}{f" during {during}" if during else ""}{words}'


class Trouble(Exception):
    """A request has no answer."""


class Refused(Trouble):
    """The server answered with an error of the protocol: it has not done what it was asked."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Expired(Trouble):
    """The server does not know the session any more: it has not looked at the request."""


class Lost(Trouble):
    """The answer will not come. `sent`: the request may have reached the server."""

    def __init__(self, end: End, *, sent: bool = True) -> None:
        super().__init__(end.how)
        self.end, self.sent = end, sent
