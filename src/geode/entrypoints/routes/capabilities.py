"""What the adapters for each wire and dialect can carry, with what is known of their models."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from geode.adapters.anthropic_messages.model import CAPABILITIES as MESSAGES
from geode.adapters.chat_completions.model import CAPABILITIES as CHAT
from geode.adapters.openai_responses.model import capabilities_for as responses_for
from geode.domain.models import rows_for
from geode.domain.request import Capabilities
from geode.domain.routing import RoutingTable
from geode.domain.targets import CredentialRoute, DialectName, Identity, Target, Transport, WireName
from geode.entrypoints.routes.file import table_of
from geode.entrypoints.routes.registry import shipped_values


@cache
def shipped_table() -> RoutingTable:
    """What the `routing.toml` of this version of geode comes to, without anybody's own."""
    return table_of(shipped_values())[0]


@cache
def capabilities_of(wire: WireName, dialect: DialectName = "generic") -> Capabilities:
    """What an adapter for this wire and dialect can carry, with the rows that ship."""
    somewhere = Target("", Identity("", ""), CredentialRoute("", None), Transport(wire, "http://localhost", dialect))
    return replace(_able(wire, dialect), models=rows_for(somewhere, shipped_table().models))


def _able(wire: WireName, dialect: DialectName) -> Capabilities:
    match wire:
        case "messages":
            return MESSAGES
        case "responses":
            return responses_for(dialect)
        case "chat":
            return CHAT[dialect]
