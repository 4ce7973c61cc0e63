"""Judging a request: what the real server refuses.

geode's own laws, which are stricter, are in `laws`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from geode.entrypoints.emulator import (
    facts_chat,
    facts_chat_dialects,
    facts_messages,
    facts_responses,
    rules_chat,
    rules_chat_options,
    rules_messages,
    rules_messages_options,
    rules_responses,
    rules_responses_options,
)
from geode.entrypoints.emulator.render import DEFAULT_DIALECT, Dialect, Protocol
from geode.entrypoints.emulator.rule import CheckFunction, Facts, Request, Rule, Violation, pointer

RULES: Final[Mapping[str, Rule]] = {
    rule.id: rule for rule in (*facts_messages.RULES, *facts_responses.RULES, *facts_chat.RULES, *facts_chat_dialects.RULES)
}
CHECKS: Final[Mapping[Protocol, tuple[CheckFunction, ...]]] = {
    "messages": (*rules_messages_options.CHECKS, *rules_messages.CHECKS),
    "responses": (*rules_responses_options.CHECKS, *rules_responses.CHECKS),
    "chat": (*rules_chat_options.CHECKS, *rules_chat.CHECKS),
}
HOSTS: Final[Mapping[str, Dialect]] = {
    "api.anthropic.com": "anthropic",
    "api.openai.com": "openai",
    "openrouter.ai": "openrouter",
    "api.z.ai": "glm",
    "open.bigmodel.cn": "glm",
    "chatgpt.com": "codex",
}


def dialect_of(host: str) -> Dialect:
    """The dialect that a host speaks; one that is not known is `generic`."""
    return HOSTS.get(host.split(":", maxsplit=1)[0], "generic")


def check(
    protocol: Protocol,
    request: Request,
    dialect: Dialect | None = None,
    *,
    version: str | None = None,
    signatures: frozenset[str] | None = None,
    responses: frozenset[str] | None = None,
    paused: frozenset[str] = frozenset(),
    reasoned: frozenset[str] = frozenset(),
) -> tuple[Violation, ...]:
    """Everything in `request` that the server of this wire and dialect refuses, in the order it is found.

    Pure and total: any JSON object can be judged. What is given beside the body is explained at
    `Facts`; what is left out is not judged.
    """
    spoken = dialect or DEFAULT_DIALECT[protocol]
    facts = Facts(spoken, version, signatures, responses, paused, reasoned)
    found: list[Violation] = []
    for judge in CHECKS[protocol]:
        for name, path, message in judge(request, facts):
            rule = RULES[name]
            if not rule.dialects or spoken in rule.dialects:
                found.append(Violation(name, pointer(path), message, rule.status, rule.error_type, rule.error_code))
    return tuple(found)
