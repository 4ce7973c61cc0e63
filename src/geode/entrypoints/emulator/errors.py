"""Error envelopes, as each server writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from geode.domain.script import Fails
from geode.entrypoints.emulator.render import Dialect, Json, Protocol
from geode.entrypoints.emulator.rule import Violation, param

ANTHROPIC_TYPE: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
OPENAI_TYPE: Final[Mapping[int, str]] = {429: "requests"}
OPENAI_CODE: Final[Mapping[int, str]] = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
GLM_CODE: Final[Mapping[int, str]] = {400: "1210", 401: "1002", 429: "1302", 500: "1234"}


def envelope(
    protocol: Protocol,
    dialect: Dialect,
    status: int,
    message: str,
    *,
    code: str | None = None,
    error_type: str | None = None,
    where: str | None = None,
    request_id: str = "req_emulated",
) -> Json:
    """The body of an error. `error_type` and `code` None take the words that go with the status."""
    if dialect == "codex":
        return {"detail": message}
    if protocol == "messages":
        kind = error_type or ANTHROPIC_TYPE.get(status, "invalid_request_error" if status < 500 else "api_error")
        error: Json = {"type": kind, "message": message}
        if code is not None:
            error |= {"code": code} if dialect == "glm" else {"details": {"error_code": code}}
        return {"type": "error", "error": error, "request_id": request_id}
    if dialect == "glm":
        known = code if code is not None and code.isdigit() else GLM_CODE.get(status, "500")
        return {"error": {"code": known, "message": message}}
    if dialect == "openrouter":
        number = int(code) if code is not None and code.isdigit() else status
        return {"error": {"code": number, "message": message, "metadata": {"provider_name": "Emulated"}}}
    return {"error": _openai_error(status, message, code, error_type, where)}


def _openai_error(status: int, message: str, code: str | None, error_type: str | None, where: str | None) -> Json:
    if error_type is None:
        # OpenAI repeats the quota code as the type, and that is how quota is told from rate.
        quota = code == "insufficient_quota"
        error_type = "insufficient_quota" if quota else OPENAI_TYPE.get(status, _family(status))
        code = code or OPENAI_CODE.get(status)
    return {"message": message, "type": error_type, "param": where, "code": code}


def _family(status: int) -> str:
    return "invalid_request_error" if status < 500 else "server_error"


def of_failure(protocol: Protocol, dialect: Dialect, failure: Fails, request_id: str) -> tuple[bytes, str]:
    """Body and content type of a scripted failure; a body given in the script goes out as it is."""
    if isinstance(failure.body, str):
        html = failure.body.lstrip().startswith("<")
        return failure.body.encode(), "text/html" if html else "text/plain"
    body = failure.body
    if body is None:
        body = envelope(protocol, dialect, failure.status, failure.message, code=failure.code, request_id=request_id)
    return json.dumps(dict(body), ensure_ascii=False).encode(), "application/json"


def of_violation(protocol: Protocol, dialect: Dialect, violation: Violation, request_id: str) -> Json:
    """The body with which a server refuses a broken request."""
    return envelope(
        protocol,
        dialect,
        violation.status,
        violation.message,
        code=violation.error_code,
        error_type=violation.error_type,
        where=param(violation.at),
        request_id=request_id,
    )


def request_id_headers(protocol: Protocol, request_id: str) -> dict[str, str]:
    """Anthropic names it `request-id`, the others `x-request-id`."""
    return {"request-id" if protocol == "messages" else "x-request-id": request_id}
