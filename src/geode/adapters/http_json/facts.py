"""Exceptions and error bodies to facts. No judgement: what a fact means is the domain's business."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import httpx2

from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.json_bytes import read_object
from geode.adapters.http_json.reading import mapping, string
from geode.adapters.http_json.refusals import body_of
from geode.domain.addresses import shown_address
from geode.domain.failures import FLAGGED, HELD_BACK, CallFailure
from geode.domain.json_value import clean_text, dump_json
from geode.domain.quota import Quota, quotas_in_error, read_quotas
from geode.domain.retry import read_retry_hint

_SHOWN: Final = 300
# As much as is kept of a message that a server wrote.
_SAID: Final = 2000
# The type of error that a server would name: what was to be sent is wrong, and would be wrong again.
_OURS: Final = "invalid_request_error"

# Written with a space, a dash or a line between.
_HELD_BACK: Final = re.compile(r"in.?flight", re.IGNORECASE)

_UNSENDABLE: Final = (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol, httpx2.InvalidURL, UnicodeEncodeError)


def failure_of_error(error: Exception, endpoint: Endpoint) -> CallFailure:
    """The facts in an exception of an SDK or of the HTTP client, on the way to `endpoint`.

    Read from structure: an SDK's class says little, and one SDK wraps any exception of its transport,
    so the cause is looked at first.
    """
    response = getattr(error, "response", None)
    if isinstance(response, httpx2.Response):
        return failure_of_response(response, body_of(response))
    cause = error.__cause__ or error
    if isinstance(cause, httpx2.TimeoutException | TimeoutError):
        where = "connect" if isinstance(cause, httpx2.ConnectTimeout | httpx2.PoolTimeout) else "read"
        way_out = "Policy(idle_timeout_seconds=…, call_timeout_seconds=…)"
        message = f"{endpoint.address}: no answer in time ({where})"
        return CallFailure(None, "connect", message, timed_out=True, way_out=way_out)
    way_out = f"base_url comes from {endpoint.source}"
    if isinstance(cause, _UNSENDABLE):
        return not_sent(f"the request to {endpoint.address} cannot be sent ({_reason(cause)})", f"{way_out}, as does the key")
    if isinstance(cause, httpx2.ConnectError):
        return CallFailure(None, "connect", f"cannot connect to {endpoint.address} ({_reason(cause)})", way_out=way_out)
    return CallFailure(None, "stream", f"the connection to {endpoint.address} broke ({_reason(cause)})", way_out=way_out)


def not_sent(message: str, way_out: str = "") -> CallFailure:
    """The facts where nothing left, through no fault of the network: trying again would change nothing."""
    return CallFailure(None, "connect", message, _OURS, way_out=way_out)


def failure_of_response(response: httpx2.Response, content: bytes | None) -> CallFailure:
    """The facts in an answer that is no success; None is a body that could not be read."""
    body = read_object(content or b"") or {}
    kind, code, message = error_facts(body)
    moved_to = _redirect(response)
    if moved_to:
        message = f"the server redirects to {moved_to}"
    elif not message:
        message = f"answered {_excerpt(response, content)}"
    numbers = dict.fromkeys(filter(None, (str(response.status_code), code or kind)))  # a relay's code is its status
    return CallFailure(
        response.status_code,
        "response",
        f"{message} ({' '.join(numbers)}{_place(body, message)})",
        kind,
        code,
        hint=read_retry_hint(response.headers, time.time()),
        request_id=request_id(response),
        way_out="A redirect is not followed: correct base_url" if moved_to else "",
        quota=(*quotas_of(response), *_quotas_in(body, message)),
    )


def _redirect(response: httpx2.Response) -> str:
    """Where the server has moved to, as far as it may be shown; "" where it does not say so."""
    if not response.has_redirect_location:
        return ""
    location = response.headers.get("location", "").partition("#")[0]
    return clean_text(shown_address(location)[:_SHOWN]) or "another address"


def not_json(response: httpx2.Response, content: bytes) -> CallFailure:
    """The facts of a 200 whose body is no JSON object: a proxy's page, a wrong address, nothing."""
    message = f"answered {response.status_code} {_excerpt(response, content)} where JSON was expected"
    way_out = "a proxy or a wrong base_url"
    return CallFailure(response.status_code, "response", message, request_id=request_id(response), way_out=way_out)


def error_in_body(body: Mapping[str, Any], request: str, status: int = 200, quota: tuple[Quota, ...] = ()) -> CallFailure:
    """The facts of an error object inside a 200, as a body or as an event of a stream."""
    kind, code, message = error_facts(body)
    shown = message or "the provider reported an error without a message"
    return CallFailure(
        status,
        "response",
        f"{shown} ({code or kind or 'inside a 200'}{_place(body, message)})",
        kind,
        code,
        request_id=request,
        quota=(*quota, *_quotas_in(body, message)),
    )


def _place(body: Mapping[str, Any], message: str) -> str:
    """The part of the request that is wrong, where the body names it and its message does not."""
    param = _word(mapping(body.get("error")).get("param"))
    return f", at {param}" if param and param not in message else ""


def _quotas_in(body: Mapping[str, Any], message: str) -> tuple[Quota, ...]:
    return quotas_in_error(mapping(body.get("error")) or body, message, time.time())


def misread(what: str, error: Exception, request: str) -> CallFailure:
    """The facts where `what` came with a 200 and is nothing that can be read."""
    return CallFailure(200, "response", f"{what} cannot be read ({_reason(error)})", request_id=request)


def error_facts(body: Mapping[str, Any]) -> tuple[str, str, str]:
    """(type, code, message) of an error body in any of the known envelopes.

    `{error: {type, code, message}}` of the OpenAI wires, `{type: error, error: {type, message,
    details: {error_code}}}` of Messages, `{detail: …}` of gateways, `{error: text}`, the flat event
    `{type: error, code, message}`, and relays that quote the provider in `metadata.raw`.
    """
    error = body.get("error")
    if isinstance(error, str):
        return "", "", ": ".join(part for part in (_said(error), _said(body.get("message"))) if part)
    facts = cast("Mapping[str, Any]", error) if isinstance(error, Mapping) else body
    details = facts.get("details")
    inner = cast("Mapping[str, Any]", details).get("error_code") if isinstance(details, Mapping) else None
    detail = body.get("detail")
    message = _said(facts.get("message")) or (_said(detail) if isinstance(detail, str) else "")
    kind = _word(facts.get("type")) if facts is not body else ""
    metadata = mapping(facts.get("metadata"))
    upstream_kind, upstream = _upstream(metadata)
    words = ": ".join(part for part in (_with_provider(message, metadata), upstream) if part)
    return kind or upstream_kind or _relayed_kind(metadata), _word(inner or facts.get("code")), words[:_SAID]


def _with_provider(message: str, metadata: Mapping[str, Any]) -> str:
    """The message of a relay with who said it behind the relay, and what it was flagged for."""
    name = clean_text(string(metadata.get("provider_name"))[:_SHOWN])
    reasons = metadata.get("reasons")
    found = cast("list[object]", reasons) if isinstance(reasons, list) else []
    flagged = clean_text(", ".join(reason for reason in found if isinstance(reason, str))[:_SHOWN])
    beside = "; ".join(part for part in (name, f"flagged for {flagged}" if flagged else "") if part)
    return f"{message} ({beside})" if message and beside else message or name


def _relayed_kind(metadata: Mapping[str, Any]) -> str:
    """What OpenRouter tells of an error beside its number, in a word of geode's."""
    if metadata.get("reasons"):
        return FLAGGED
    return HELD_BACK if _HELD_BACK.search(string(metadata.get("limit_source"))) else ""


def _upstream(metadata: Mapping[str, Any]) -> tuple[str, str]:
    """What a relay passes on from the provider behind it: that one's word and message, as JSON text or plain."""
    raw = clean_text(string(metadata.get("raw")))
    body = read_object(raw.encode())
    if body is None:
        return "", raw[:_SAID]
    kind, code, message = error_facts(body)
    return code or kind, message or raw[:_SAID]


def quotas_of(response: httpx2.Response) -> tuple[Quota, ...]:
    """What the headers tell of the account's limits."""
    return read_quotas(response.headers, time.time())


def request_id(response: httpx2.Response) -> str:
    """The id under which the provider knows this call."""
    return (response.headers.get("request-id") or response.headers.get("x-request-id") or "")[:_SHOWN]


def _word(value: object) -> str:
    """A short name or number, such as codes and types are."""
    if isinstance(value, str):
        return clean_text(value[:_SHOWN])
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9 else ""


def _said(value: object) -> str:
    """A message: text as it is, as much of it as anybody reads; anything else as JSON."""
    if isinstance(value, str):
        return clean_text(value[:_SAID])
    try:
        return clean_text(dump_json(value)[:_SAID]) if value else ""
    except (ValueError, RecursionError):
        return ""


def _excerpt(response: httpx2.Response, content: bytes | None) -> str:
    if content is None:
        return "with a body that could not be read"
    kind = response.headers.get("content-type", "").partition(";")[0] or "without a content type"
    text = " ".join(content[:_SHOWN].decode("utf-8", "replace").split())
    return f'{kind} ("{text}")' if text else f"{kind} (empty)"


def _reason(cause: BaseException) -> str:
    """What went wrong below, in a word where there is one."""
    for error in _below(cause):
        if isinstance(error, ConnectionRefusedError):
            return "refused"
        if isinstance(error, socket.gaierror):
            return "no such host"
    text = clean_text(str(cause)[:_SHOWN])
    return f"{type(cause).__name__}: {text}" if text else type(cause).__name__


def _below(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from, innermost last; attempts at several addresses come as a group."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for one in error.exceptions:
                yield from _below(one)
        error = error.__cause__ or error.__context__
