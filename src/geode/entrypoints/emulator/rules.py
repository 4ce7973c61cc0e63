"""Judging a request: what the real server refuses.

geode's own laws, which are stricter, are in `laws`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from geode.entrypoints.emulator import (
    facts_chat,
    facts_chat_dialects,
    facts_chat_options,
    facts_deferred,
    facts_messages,
    facts_messages_options,
    facts_relays,
    facts_responses,
    facts_responses_options,
    rules_chat,
    rules_chat_options,
    rules_chat_parts,
    rules_chat_quirks,
    rules_deferred,
    rules_http,
    rules_messages,
    rules_messages_blocks,
    rules_messages_options,
    rules_messages_tools,
    rules_relays,
    rules_responses,
    rules_responses_options,
    rules_responses_parts,
)
from geode.entrypoints.emulator.laws import laws
from geode.entrypoints.emulator.models import model_of
from geode.entrypoints.emulator.render import DEFAULT_DIALECT, DIALECTS, Dialect, Protocol
from geode.entrypoints.emulator.rule import CheckFunction, Facts, Quirk, Rule, Violation, pointer
from geode.entrypoints.emulator.rules_http import no_object

RULES: Final[Mapping[str, Rule]] = {
    rule.id: rule
    for rule in (
        *rules_http.RULES,
        *facts_messages.RULES,
        *facts_messages_options.RULES,
        *facts_deferred.RULES,
        *facts_responses.RULES,
        *facts_responses_options.RULES,
        *facts_chat.RULES,
        *facts_chat_options.RULES,
        *facts_chat_dialects.RULES,
        *facts_relays.RULES,
        *rules_chat_quirks.RULES,
    )
}
CHECKS: Final[Mapping[Protocol, tuple[CheckFunction, ...]]] = {
    "messages": (
        *rules_messages_options.CHECKS,
        *rules_messages_tools.CHECKS,
        *rules_messages.CHECKS,
        *rules_messages_blocks.CHECKS,
        *rules_deferred.MESSAGES,
    ),
    "responses": (
        *rules_responses_options.CHECKS,
        *rules_responses.CHECKS,
        *rules_responses_parts.CHECKS,
        *rules_deferred.RESPONSES,
    ),
    "chat": (
        *rules_chat_options.CHECKS,
        *rules_relays.CHECKS,
        *rules_chat.CHECKS,
        *rules_chat_parts.CHECKS,
        *rules_chat_quirks.CHECKS,
    ),
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
    request: Any,
    dialect: Dialect | None = None,
    *,
    version: str | None = None,
    signatures: frozenset[str] | None = None,
    prefixes: Mapping[str, frozenset[str]] | None = None,
    responses: frozenset[str] | None = None,
    paused: frozenset[str] = frozenset(),
    reasoned: frozenset[str] = frozenset(),
    models: frozenset[str] | None = None,
    size: int | None = None,
    quirks: frozenset[Quirk] = frozenset(),
) -> tuple[Violation, ...]:
    """Everything in `request` that the server of this wire and dialect refuses, in the order it is found.

    Pure and total: any JSON value can be judged, in time proportional to its length. What is given
    beside the body is explained at `Facts`; what is left out is not judged.
    """
    if not isinstance(request, dict):
        return (no_object(),)
    spoken = dialect or DEFAULT_DIALECT[protocol]
    if spoken not in DIALECTS[protocol]:
        spoken = "generic"  # a known host, but with the wire of another
    facts = Facts(spoken, version, signatures, prefixes, responses, paused, reasoned, models, size, quirks)
    found: list[Violation] = []
    for judge in CHECKS[protocol]:
        for name, path, message in judge(request, facts):
            rule = RULES[name]
            if not rule.dialects or spoken in rule.dialects:
                found.append(Violation(name, pointer(path), message, rule.status, rule.error_type, rule.error_code))
    return tuple(found)


def verdict(
    protocol: Protocol, request: Any, dialect: Dialect | None = None, *, version: str | None = None
) -> tuple[Violation, ...]:
    """What `check` finds, and where a server would find nothing, the breaches of geode's own `laws`.

    A server pairs by id and cannot see that two results of a round changed places, or that something
    was put between a call and its output. Nothing that was recorded as taken breaks these laws, so
    they too tell a broken history from a whole one; pairing is left to the few servers that were
    recorded to be easy with it.
    """
    found = check(protocol, request, dialect, version=version)
    if found or not isinstance(request, dict):
        return found
    easy = model_of(request).partial_answers
    return tuple(one for one in laws(protocol, request) if not (easy and one.rule == "geode.pairing"))
