"""How model calls fail: adapters report facts, these rules judge them (spec section 7)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, TypeAlias

from geode.domain.quota import Quota
from geode.domain.spent import Spent
from geode.domain.usage import Usage

Phase: TypeAlias = Literal["connect", "response", "stream"]


@dataclass(frozen=True, slots=True)
class RetryHint:
    """What the server said about trying again: seconds, a plain no, or something unreadable (`raw`)."""

    seconds: float | None = None
    forbidden: bool = False
    raw: str = ""


@dataclass(frozen=True, slots=True)
class CallFailure:
    """The facts of a failed call, without judgement.

    `status` is the HTTP status or None; `phase` is how far the call came: nothing answered
    (`connect`), the server said what is wrong, inside a stream too (`response`), or what it was
    saying broke off (`stream`). `error_type` and `error_code` are the body's own fields.
    `after_output` says that text or a call had been shown. `way_out` is what the operator may change.
    `quota` is what the provider told of the account's limits; `subscription` says that the credential is that of
    a plan, which pays for a span of time and not for each call. `partial` is the text that had been shown, `usage`
    what had been reported of tokens when it broke off, None for nothing. `broke_off`: some of the reply had come, and what
    it took was not told to its end; it is one of the `unpriced_calls` of `usage`.
    """

    status: int | None
    phase: Phase
    message: str
    error_type: str = ""
    error_code: str = ""
    timed_out: bool = False
    after_output: bool = False
    hint: RetryHint = RetryHint()
    request_id: str = ""
    way_out: str = ""
    quota: tuple[Quota, ...] = ()
    subscription: bool = False
    partial: str = ""
    usage: Usage | None = None
    broke_off: bool = False

    @property
    def spent(self) -> Spent:
        """What the attempt has spent."""
        return Spent(self.usage or Usage(), broken_off=int(self.broke_off))


class FailureClass(Enum):
    """What a failure is. The order is the order in which they are tried; the first match wins."""

    BILLING = "billing"
    STREAM_INTERRUPTED = "stream_interrupted"
    CONTEXT_OVERFLOW = "context_overflow"
    AUTH = "auth"
    TIMEOUT = "timeout"
    CONFLICT = "conflict"
    REQUEST_FATAL = "request_fatal"
    OTHER_CLIENT = "other_client"
    RATE_LIMIT = "rate_limit"
    SERVER = "server"
    CONNECTION = "connection"
    UNKNOWN = "unknown"


RETRYABLE: Final = frozenset(
    {FailureClass.TIMEOUT, FailureClass.CONFLICT, FailureClass.RATE_LIMIT, FailureClass.SERVER, FailureClass.CONNECTION}
)

# Sources: wire facts E2 (OpenAI, Anthropic, GLM and OpenRouter error tables).
_BILLING_CODES: Final = frozenset(
    {
        *("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"),
        *("enforced_spend_limit_reached", "contract_spend_limit_reached"),
        *("1113", "1114", "1304", "1308", "1309", "1310", "1311", "1313"),
    }
)
_CONTEXT_CODES: Final = frozenset(
    {
        *("context_length_exceeded", "model_context_window_exceeded", "context_window_exceeded", "prompt_too_long", "1261"),
        *("request_too_large", "request_body_too_large_after_decoding"),
        "exceed_context_size_error",  # llama.cpp
    }
)
# The status that an error would have had, for errors inside a 200 and for bodies that carry only a code.
_STATUS_OF: Final = {
    **dict.fromkeys(("invalid_request_error", "not_found_error", "invalid_prompt", "invalid_image"), 400),
    **dict.fromkeys(("1210", "1211", "1212", "1213", "1214", "1215", "1220", "1222", "1301"), 400),
    **dict.fromkeys(("authentication_error", "invalid_api_key", "permission_error"), 401),
    **dict.fromkeys(("1000", "1001", "1002", "1003", "1004"), 401),
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "ramp_limit_exceeded", "1302", "1303", "1305"), 429),
    **dict.fromkeys(("api_error", "server_error", "timeout_error", "overloaded_error", "overloaded"), 500),
    **dict.fromkeys(("internal_server_error", "network_error", "1312", "1230", "1234", "500"), 500),
}
# Limits that pass by themselves, whatever label stands beside such words.
_PASSING = re.compile(r"\bper[- ]min(ute)?\b|\b[RT]PM\b|\bconcurren(t requests?|cy)\b", re.IGNORECASE)
# A plan whose server says to come back later than in so many seconds is used up.
_A_MOMENT: Final = 60.0
# GLM says of these that they are limits of speed, on its plans too.
_SPEED_CODES: Final = frozenset({"1302", "1303", "1305"})
_LOW_CREDIT = re.compile(r"\bcredit balance is too low\b|^you have reached your specified API usage limits\b", re.IGNORECASE)
_KEY_LIMIT = re.compile(r"^key limit exceeded\b", re.IGNORECASE)
# OpenRouter's 404 where it has the model, but nobody who takes what the request asks of it: no missing page.
_NO_SUCH_ENDPOINT = re.compile(r"^no endpoints found that (?:can )?(?:support|handle)\b", re.IGNORECASE)
# Its 404 where it has the model, but what the caller's options or the account's settings leave is nobody.
_NONE_ALLOWED = re.compile(
    r"^no (?:allowed providers are available|endpoints (?:found|available) matching your)\b", re.IGNORECASE
)
# What OpenRouter holds back for calls that are still running comes free when they end: its own word for why a 402.
HELD_BACK: Final = "in_flight_budget"
# What a relay's moderation refused.
FLAGGED: Final = "moderation"
_TOO_LONG = re.compile(
    r"\bprompt is too long\b|\binput length and `?max_tokens`? exceed\b"
    r"|\bmaximum context length is\b|\bcontext window\b.{0,100}\bexceed"
    r"|\bexceeds? (?:the|this) (?:model's )?(?:maximum context length|(?:available )?context (?:window|size))\b"
    r"|\blonger than the maximum model length\b|\bmodel is loaded with context length of only\b"
    r"|\binput is too long\b|\btoo many (?:input )?tokens\b|\bhistory length exceeds maximum\b",
    re.IGNORECASE,
)


def classify_retry_error(failure: CallFailure) -> FailureClass:
    """The class of a failure, read from its structure; text only by whole phrases, never by a number in it."""
    status = effective_status(failure)
    if is_billing_fatal(failure):
        return FailureClass.BILLING
    if failure.after_output:
        return FailureClass.STREAM_INTERRUPTED
    if _is_context_overflow(failure, status):
        return FailureClass.CONTEXT_OVERFLOW
    if status in (401, 403):
        return FailureClass.AUTH
    if status == 408 or failure.timed_out:
        return FailureClass.TIMEOUT
    if status == 409:
        return FailureClass.CONFLICT
    if status == 400 or lacks_endpoint(failure) or allows_nobody(failure):
        return FailureClass.REQUEST_FATAL
    if status is not None and 400 < status < 500 and status != 429:
        return FailureClass.OTHER_CLIENT
    if status == 429:
        return FailureClass.RATE_LIMIT
    if status is not None and 500 <= status < 600:
        return FailureClass.SERVER
    if status is None and failure.phase in ("connect", "stream"):
        return FailureClass.CONNECTION
    return FailureClass.UNKNOWN


def is_billing_fatal(failure: CallFailure) -> bool:
    """Whether the account cannot pay: ends the call and any chain. Per-minute wording wins over a quota word.

    A plan that refuses without saying when to come back is used up until its reset.
    """
    if failure.status == 402 or failure.error_code == "402":
        return not _comes_free(failure)
    if _PASSING.search(failure.message):
        return False
    if failure.error_code in _BILLING_CODES or failure.error_type in _BILLING_CODES:
        return True
    if is_used_up_plan(failure):
        return True
    # In a stream the status is that of the error's own word.
    status = effective_status(failure)
    if status == 400 and _LOW_CREDIT.search(failure.message):
        return True
    return status == 403 and _KEY_LIMIT.search(failure.message) is not None


def is_used_up_plan(failure: CallFailure) -> bool:
    """Whether a subscription answered 429 without the hint of a moment: nothing but its reset helps."""
    if not failure.subscription or effective_status(failure) != 429 or provider_code(failure) in _SPEED_CODES:
        return False
    seconds = failure.hint.seconds
    return seconds is None or failure.hint.forbidden or not 0 <= seconds <= _A_MOMENT


def is_request_fatal(failure: CallFailure) -> bool:
    """Whether the same request can only be refused again: a 400 that is neither billing nor an overflow, or a relay that
    has nobody who takes it."""
    return classify_retry_error(failure) is FailureClass.REQUEST_FATAL


def effective_status(failure: CallFailure) -> int | None:
    """The HTTP status, or inside a 200 the one that the error's own code or type stands for.

    A provider's code is believed before a 4xx status too: GLM answers 429 to what is no rate limit.
    """
    code = provider_code(failure)
    by_code = _status_of_code(code)
    known = by_code if by_code is not None else _STATUS_OF.get(failure.error_type)
    if failure.status is None or failure.status < 400:
        return known if known is not None else (None if failure.status is None or failure.phase == "stream" else failure.status)
    if failure.status == 429 and code in _STATUS_OF and by_code is not None:
        return by_code
    return 429 if _comes_free(failure) else failure.status


def lacks_endpoint(failure: CallFailure) -> bool:
    """Whether a relay has nobody who takes what the request asks of its model, such as tools."""
    return effective_status(failure) == 404 and _NO_SUCH_ENDPOINT.search(failure.message) is not None


def allows_nobody(failure: CallFailure) -> bool:
    """Whether a relay has the model, and the options of the request or the settings of the account leave nobody for it."""
    return effective_status(failure) == 404 and _NONE_ALLOWED.search(failure.message) is not None


def _comes_free(failure: CallFailure) -> bool:
    """A 402 that the server says to try again: its credit is only held back for calls that are under way."""
    return failure.status == 402 and failure.error_type == HELD_BACK and failure.hint.seconds is not None


def provider_code(failure: CallFailure) -> str:
    """The code of the body; older servers of GLM put their number in the place of the type."""
    return failure.error_type if not failure.error_code and failure.error_type.isdigit() else failure.error_code


def _status_of_code(code: str) -> int | None:
    if code in _STATUS_OF:
        return _STATUS_OF[code]
    return int(code) if len(code) == 3 and code.isascii() and code.isdigit() and 400 <= int(code) < 600 else None


def _is_context_overflow(failure: CallFailure, status: int | None) -> bool:
    if failure.error_code in _CONTEXT_CODES or failure.error_type in _CONTEXT_CODES:
        return True
    # A gateway may turn the provider's 400 into a 5xx; the words stay.
    judged = status is not None and (status in (400, 413) or 500 <= status < 600)
    return judged and _TOO_LONG.search(failure.message) is not None


def describe(adapter: str, failure: CallFailure, attempts: int, seconds: float) -> str:
    """What the operator reads: who failed, how, after how many attempts, and what may be changed."""
    request = f" ({failure.request_id})" if failure.request_id else ""
    tried = f", {attempts} attempts in {seconds:.1f} s" if attempts > 1 else ""
    wait = f", the server said {failure.hint.raw!r} about retrying" if failure.hint.raw else ""
    return f"{adapter}: {failure.message}{request}{tried}{wait}{'. ' + failure.way_out if failure.way_out else ''}"
