"""Failures as the providers document or show them: what the server sends, and the class it belongs to.

The classes are those of the specification, section 7, decided by hand for each row. `source` is where the body is from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from geode.domain.failures import FailureClass
from geode.domain.targets import DialectName

Wire = Literal["messages", "responses", "chat"]

BILLING, OVERFLOW, AUTH = FailureClass.BILLING, FailureClass.CONTEXT_OVERFLOW, FailureClass.AUTH
TIMEOUT, CONFLICT, FATAL = FailureClass.TIMEOUT, FailureClass.CONFLICT, FailureClass.REQUEST_FATAL
OTHER, RATE, SERVER, UNKNOWN = (
    FailureClass.OTHER_CLIENT,
    FailureClass.RATE_LIMIT,
    FailureClass.SERVER,
    FailureClass.UNKNOWN,
)


@dataclass(frozen=True)
class Sent:
    """What a server answers. A list is the events of a stream, which came with a 200."""

    wire: Wire
    status: int
    body: Mapping[str, Any] | list[Mapping[str, Any]]
    kind: FailureClass
    source: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    dialect: DialectName = "generic"
    subscription: bool = False


def _anthropic(status: int, type: str, message: str, kind: FailureClass, source: str, **more: Any) -> Sent:
    error = {"type": type, "message": message, **more.pop("error", {})}
    return Sent("messages", status, {"type": "error", "error": error, "request_id": "req_x"}, kind, source, **more)


def _openai(status: int, type: str, code: str | None, message: str, kind: FailureClass, source: str, **more: Any) -> list[Sent]:
    """The same body on both wires of OpenAI."""
    body = {"error": {"message": message, "type": type, "param": None, "code": code}}
    return [
        Sent("responses", status, body, kind, source, **more),
        Sent("chat", status, body, kind, source, dialect="openai", **more),
    ]


def _glm(status: int, code: str, message: str, kind: FailureClass) -> Sent:
    body = {"error": {"code": code, "message": message}}
    return Sent("chat", status, body, kind, "docs.z.ai/api-reference/api-code", dialect="glm")


def _openrouter(status: int, code: int, message: str, kind: FailureClass, **metadata: Any) -> Sent:
    error = {"code": code, "message": message, **({"metadata": metadata} if metadata else {})}
    source = "openrouter.ai/docs/api/reference/errors-and-debugging"
    return Sent("chat", status, {"error": error}, kind, source, dialect="openrouter")


_ANTHROPIC: Final = "platform.claude.com/docs/en/api/errors"
_OPENAI: Final = "platform.openai.com/docs/guides/error-codes"
_LOW: Final = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade."

_LIMITS: Final = "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."

ANTHROPIC: Final = [
    _anthropic(401, "authentication_error", "invalid x-api-key", AUTH, _ANTHROPIC),
    _anthropic(401, "authentication_error", "OAuth authentication is currently not supported", AUTH, _ANTHROPIC),
    _anthropic(403, "permission_error", "Your API key does not have permission to use the resource", AUTH, _ANTHROPIC),
    _anthropic(402, "billing_error", "there is an issue with billing or payment information", BILLING, _ANTHROPIC),
    _anthropic(400, "invalid_request_error", _LOW, BILLING, "github.com/anthropics/claude-code/issues/66314"),
    _anthropic(400, "invalid_request_error", _LIMITS, BILLING, _ANTHROPIC),
    _anthropic(413, "request_body_too_large_after_decoding", "The body is too large.", OVERFLOW, "wire facts E2"),
    *(
        _anthropic(429, "rate_limit_error", "limit", BILLING, "anthropic SDK 2.14", error={"details": {"error_code": code}})
        for code in ("enforced_spend_limit_reached", "contract_spend_limit_reached")
    ),
    _anthropic(
        429,
        "rate_limit_error",
        "limit",
        RATE,
        "anthropic SDK 2.14",
        error={"details": {"error_code": "ramp_limit_exceeded"}},
    ),
    _anthropic(429, "rate_limit_error", "Number of request tokens has exceeded your per-minute limit", RATE, _ANTHROPIC),
    _anthropic(429, "rate_limit_error", "limit", RATE, _ANTHROPIC, headers={"retry-after": "7"}),
    _anthropic(429, "rate_limit_error", "limit", RATE, _ANTHROPIC, headers={"retry-after": "7"}, subscription=True),
    _anthropic(429, "rate_limit_error", "limit", BILLING, "specification, section 7", subscription=True),
    _anthropic(529, "overloaded_error", "overloaded", SERVER, _ANTHROPIC),
    _anthropic(500, "api_error", "Internal server error", SERVER, _ANTHROPIC),
    _anthropic(503, "api_error", "Service unavailable", SERVER, _ANTHROPIC),
    _anthropic(504, "timeout_error", "Request timed out", SERVER, _ANTHROPIC),
    _anthropic(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", OVERFLOW, _ANTHROPIC),
    _anthropic(
        400,
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
        OVERFLOW,
        _ANTHROPIC,
    ),
    _anthropic(413, "request_too_large", "request exceeds the maximum size", OVERFLOW, _ANTHROPIC),
    _anthropic(
        413,
        "request_too_large",
        "request exceeds the maximum size",
        OVERFLOW,
        "anthropic SDK 2.14",
        error={"details": {"error_code": "request_body_too_large_after_decoding"}},
    ),
    _anthropic(404, "not_found_error", "model: claude-sonet-4-5", OTHER, "recording"),
    _anthropic(400, "invalid_request_error", "This model does not support effort level 'xhigh'.", FATAL, "recording"),
    # Z.ai's Messages address: its own code in the envelope, or in older builds in the place of the type.
    _anthropic(429, "rate_limit_error", "[1113][no resource package]", BILLING, "zai-org/feedback#789", error={"code": "1113"}),
    _anthropic(429, "1113", "Insufficient balance", BILLING, "github.com/anthropics/claude-code/issues/9201"),
    _anthropic(429, "1302", "concurrency too high", RATE, "github.com/anthropics/claude-code/issues/9201"),
    _anthropic(429, "1211", "model does not exist", FATAL, "github.com/anthropics/claude-code/issues/9201"),
]
_USAGE_LIMIT: Final = {
    "type": "usage_limit_reached",
    "message": "The usage limit has been reached",
    "plan_type": "plus",
    "resets_in_seconds": 3600,
}
OPENAI: Final = [
    *_openai(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided", AUTH, _OPENAI),
    *_openai(403, "request_forbidden", "unsupported_country_region_territory", "Country not supported", AUTH, _OPENAI),
    *_openai(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota", BILLING, _OPENAI),
    *_openai(
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota",
        BILLING,
        _OPENAI,
        headers={"retry-after": "7"},
    ),
    *_openai(
        400, "invalid_request_error", "billing_hard_limit_reached", "Billing hard limit has been reached", BILLING, _OPENAI
    ),
    *_openai(429, "billing_not_active", "billing_not_active", "Your account is not active", BILLING, _OPENAI),
    *_openai(429, "tokens", "rate_limit_exceeded", "Rate limit reached for model on tokens per min (TPM)", RATE, _OPENAI),
    *_openai(429, "requests", "rate_limit_exceeded", "Rate limit reached for model", RATE, _OPENAI),
    *_openai(500, "server_error", None, "The server had an error while processing your request", SERVER, _OPENAI),
    *_openai(503, "server_error", None, "The engine is currently overloaded", SERVER, _OPENAI),
    *_openai(400, "invalid_request_error", "context_length_exceeded", "your input exceeds the window", OVERFLOW, _OPENAI),
    *_openai(400, "invalid_request_error", None, "This model's maximum context length is 8192 tokens.", OVERFLOW, _OPENAI),
    *_openai(404, "invalid_request_error", "model_not_found", "The model `gpt-5.2-proo` does not exist", OTHER, "recording"),
    *_openai(400, "invalid_request_error", "unsupported_value", "Unsupported value: 'messages[0].role'", FATAL, "recording"),
    *_openai(409, "invalid_request_error", None, "conflict", CONFLICT, _OPENAI),
    *_openai(408, "timeout", None, "request timed out", TIMEOUT, _OPENAI),
    Sent("responses", 400, {"detail": "store must be set to false"}, FATAL, "ChatGPT backend"),
    Sent("responses", 429, {"error": _USAGE_LIMIT}, BILLING, "github.com/openai/codex", subscription=True),
]
GLM: Final = [
    *(_glm(401, code, "authorisation token invalid", AUTH) for code in ("1000", "1001", "1002", "1003", "1004")),
    *(_glm(429, code, "authorisation token invalid", AUTH) for code in ("1000", "1002")),
    _glm(429, "1113", "insufficient balance or no resource package", BILLING),
    _glm(429, "1114", "the account is in arrears", BILLING),
    _glm(429, "1304", "daily call limit reached", BILLING),
    _glm(429, "1308", "Usage limit reached for 5 hour. Your limit will reset at 2026-11-30 18:00:00", BILLING),
    _glm(429, "1309", "the plan has expired", BILLING),
    _glm(429, "1310", "weekly or monthly cap exhausted", BILLING),
    _glm(429, "1311", "plan does not include this model", BILLING),
    _glm(429, "1313", "fair-use restriction", BILLING),
    _glm(429, "1302", "concurrency too high", RATE),
    _glm(429, "1303", "request frequency too high", RATE),
    _glm(429, "1305", "traffic too high", RATE),
    *(_glm(429, code, "busy", SERVER) for code in ("1312", "1230", "1234")),
    _glm(500, "1230", "network error", SERVER),
    _glm(400, "1261", "Prompt exceeds max length", OVERFLOW),
    _glm(429, "1261", "Prompt exceeds max length", OVERFLOW),
    _glm(400, "1301", "input or generation may contain unsafe content", FATAL),
    _glm(429, "1301", "input or generation may contain unsafe content", FATAL),
    _glm(400, "1211", "model does not exist", FATAL),
    _glm(400, "1214", "the messages parameter is illegal", FATAL),
]
_WRAPPED: Final = "Provider returned error"
OPENROUTER: Final = [
    _openrouter(401, 401, "No auth credentials found", AUTH),
    _openrouter(402, 402, "Insufficient credits. Add more using https://openrouter.ai/settings/credits", BILLING),
    _openrouter(403, 403, "Key limit exceeded (total limit). Manage it using the settings", BILLING),
    _openrouter(403, 403, "input flagged", AUTH, reasons=["x"], flagged_input="…", provider_name="X"),
    _openrouter(408, 408, "request timed out", TIMEOUT),
    _openrouter(429, 429, "rate limited upstream", RATE, provider_name="X"),
    _openrouter(429, 429, _WRAPPED, RATE, provider_name="Google", raw="is temporarily rate-limited upstream. Please retry"),
    _openrouter(502, 502, _WRAPPED, SERVER, provider_name="X", raw="..."),
    _openrouter(503, 503, "no available model provider meets your routing requirements", SERVER),
    _openrouter(402, 402, "Credits are held back", BILLING, limit_source="in_flight_budget"),
    _openrouter(404, 404, "no endpoints found that support tool use", FATAL),
    _openrouter(404, 404, "No endpoints found that support the provided tool_choice value", FATAL),
    _openrouter(404, 404, "No endpoints found that can handle the requested parameters.", FATAL),
    _openrouter(404, 404, "No endpoints found for nobody/nothing.", OTHER),
    _openrouter(400, 400, "only one of reasoning.effort and reasoning.max_tokens may be given", FATAL),
    _openrouter(400, 400, _WRAPPED, OVERFLOW, raw='{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}'),
    _openrouter(400, 400, _WRAPPED, OVERFLOW, raw='{"error":{"code":"context_length_exceeded","message":"too many tokens"}}'),
    _openrouter(429, 429, _WRAPPED, BILLING, raw='{"error":{"code":"insufficient_quota","message":"You exceeded it"}}'),
    # The error came after the request was accepted: a 200.
    _openrouter(200, 502, "provider returned error", SERVER, provider_name="X"),
    _openrouter(200, 429, "rate limited upstream", RATE),
    _openrouter(200, 402, "Insufficient credits", BILLING),
    _openrouter(200, 401, "no credentials", AUTH),
    _openrouter(200, 400, "bad", FATAL),
]
# Servers of one's own, each in its own words.
_LLAMA: Final = {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error"}
_LM_STUDIO: Final = "the model is loaded with context length of only 4096 tokens, which is not enough"
_VLLM: Final = "The decoder prompt (length 5000) is longer than the maximum model length of 4096."
COMPATIBLE: Final = [
    Sent("chat", 400, {"error": _LLAMA}, OVERFLOW, "llama.cpp, tools/server"),
    Sent("chat", 400, {"error": f"Trying to keep the first 5000 tokens: {_LM_STUDIO}"}, OVERFLOW, "LM Studio"),
    Sent("chat", 400, {"object": "error", "message": _VLLM, "type": "BadRequestError", "code": 400}, OVERFLOW, "vLLM"),
    Sent("chat", 400, {"error": {"code": "prompt_too_long", "message": "no"}}, OVERFLOW, "facts 8"),
    Sent("chat", 400, {"error": {"code": "context_window_exceeded", "message": "no"}}, OVERFLOW, "facts 8"),
    *(
        Sent("chat", 400, {"error": {"message": message}}, OVERFLOW, "facts 8")
        for message in (
            "Input is too long for requested model.",
            "too many input tokens: 5000",
            "History length exceeds maximum",
        )
    ),
    # A word of a number of tokens is no overflow.
    Sent("chat", 400, {"error": {"message": "max_tokens must be at most 4096"}}, FATAL, "facts 16, fix 15"),
]
WHOLE: Final = [*ANTHROPIC, *OPENAI, *GLM, *OPENROUTER, *COMPATIBLE]


def _event(type: str, message: str, kind: FailureClass) -> Sent:
    start = {"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 1}}}
    error = {"type": "error", "error": {"type": type, "message": message}}
    return Sent("messages", 200, [start, error], kind, "platform.claude.com/docs/en/build-with-claude/streaming")


def _chunk(code: int, message: str, kind: FailureClass) -> Sent:
    chunk = {
        "id": "gen-1",
        "object": "chat.completion.chunk",
        "error": {"code": code, "message": message},
        "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
    }
    source = "openrouter.ai/docs/api/reference/streaming"
    return Sent("chat", 200, [chunk], kind, source, dialect="openrouter")


def _failed(code: str, message: str, kind: FailureClass) -> list[Sent]:
    """The three forms in which a Responses stream fails."""
    source = "platform.openai.com/docs/api-reference/responses-streaming"
    error = {"code": code, "message": message}
    response = {"id": "r", "object": "response", "status": "failed", "error": error, "output": []}
    return [
        Sent("responses", 200, [{"type": "response.failed", "sequence_number": 1, "response": response}], kind, source),
        Sent("responses", 200, [{"type": "error", "sequence_number": 1, "param": None, **error}], kind, source),
        Sent("responses", 200, [{"type": "error", "sequence_number": 1, "error": {"type": "x", **error}}], kind, source),
    ]


STREAMED: Final = [
    _event("overloaded_error", "Overloaded", SERVER),
    _event("api_error", "Internal server error", SERVER),
    _event("rate_limit_error", "limit", RATE),
    _event("invalid_request_error", "bad schema", FATAL),
    _event("authentication_error", "invalid x-api-key", AUTH),
    _event("permission_error", "not yours", AUTH),
    _event("billing_error", "no credit", BILLING),
    _event("invalid_request_error", _LOW, BILLING),
    _event("request_too_large", "too large", OVERFLOW),
    _event("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", OVERFLOW),
    *_failed("server_error", "The server had an error", SERVER),
    *_failed("rate_limit_exceeded", "Rate limit reached", RATE),
    *_failed("insufficient_quota", "You exceeded your current quota", BILLING),
    *_failed("context_length_exceeded", "your input exceeds the window", OVERFLOW),
    *_failed("invalid_prompt", "flagged", FATAL),
    _chunk(502, "provider disconnected", SERVER),
    _chunk(429, "rate limited", RATE),
    _chunk(402, "Insufficient credits", BILLING),
    _chunk(400, "bad", FATAL),
    _chunk(401, "no key", AUTH),
]
