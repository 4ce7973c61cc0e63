"""Faults: of the caller, which are raised, and of a provider, which a run carries in its outcome."""

from __future__ import annotations

from geode.domain.failures import CallFailure


class GeodeError(Exception):
    """The root of everything geode raises on purpose."""


class Misuse(GeodeError):
    """The application used geode in a way that cannot work.

    The message names the thing, the place and the way out, and ends with a stable id in brackets,
    by which it is found in `docs/errors.md`.
    """

    def __init__(self, id: str, message: str) -> None:
        super().__init__(f"{message} [{id}]")
        self.id, self._message = id, message

    def said_of(self, more: str) -> Misuse:
        """The same, with more about where what is wrong comes from."""
        return Misuse(self.id, f"{self._message}; {more}")


class IllegalInput(GeodeError):
    """`step` was given an input that its pending action does not allow; the state is unchanged."""


class CodecError(GeodeError, ValueError):
    """Stored text is not what this version of geode wrote: names the place inside the document."""


class ModelCallError(GeodeError):
    """A model call failed for good. `failure` holds the facts, where a call was made at all."""

    def __init__(self, why: str, failure: CallFailure | None) -> None:
        super().__init__(why)
        self.failure = failure


class BillingError(ModelCallError):
    """The account cannot pay: add credit or raise the limit at the provider, then run again."""


class AuthenticationError(ModelCallError):
    """The provider does not accept the credential."""


class StreamInterrupted(ModelCallError):
    """The call broke off after something of its reply was shown, so it is not made again; `failure.partial` has the text."""


class RequestRefused(ModelCallError):
    """The same request can only be refused again."""
