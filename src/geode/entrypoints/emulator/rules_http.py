"""What servers refuse before they look into a body: keys, and what is no JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from geode.entrypoints.emulator.render import Dialect, Protocol
from geode.entrypoints.emulator.rule import Rule, Violation

_SURVEY: Final = "https://platform.claude.com/docs/en/api/errors"
RULES: Final[tuple[Rule, ...]] = (
    Rule("http.body", "The body is a JSON object.", "the same on all wires"),
    Rule("http.auth", "The key is known.", "the same on all wires", 401, None),
    Rule("messages.anthropic.auth.invalid", "The key is known.", _SURVEY, 401, "authentication_error"),
    Rule(
        "messages.anthropic.auth.oauth_no_beta",
        "A token of a subscription needs the oauth beta header.",
        "https://github.com/anthropics/claude-code/issues/37205",
        401,
        "authentication_error",
    ),
    Rule("chat.glm.auth", "The token is valid.", "https://docs.z.ai/api-reference/api-code", 401, None, "1002"),
)
_BY_ID: Final = {rule.id: rule for rule in RULES}
SUBSCRIPTION: Final = "sk-ant-oat"


def parsed(raw: bytes | str) -> dict[str, Any] | None:
    """The body as an object; None for what no server reads as one, NaN among it."""
    try:
        found = json.loads(raw, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def no_object() -> Violation:
    """The answer to a body that is no JSON object."""
    return _violation("http.body", "The body of the request is not a JSON object.")


def credentials(protocol: Protocol, dialect: Dialect, headers: Mapping[str, str], api_key: str | None) -> Violation | None:
    """What is wrong with the key in `headers`; `api_key` is the only one that is right, None takes any."""
    given = (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer "))
    if dialect == "anthropic" and given[1].startswith(SUBSCRIPTION) and "oauth" not in headers.get("anthropic-beta", ""):
        return _violation("messages.anthropic.auth.oauth_no_beta", "OAuth authentication is currently not supported.")
    if api_key is None or api_key in given:
        return None
    if protocol == "messages" and dialect == "anthropic":
        return _violation("messages.anthropic.auth.invalid", "invalid x-api-key")
    glm = protocol == "chat" and dialect == "glm"
    return _violation("chat.glm.auth" if glm else "http.auth", "The API key is invalid.")


def _violation(name: str, message: str) -> Violation:
    rule = _BY_ID[name]
    return Violation(name, "", message, rule.status, rule.error_type, rule.error_code)


def _refused(word: str) -> Any:
    raise ValueError(word)
