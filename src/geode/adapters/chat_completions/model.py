"""Connecting the Chat wire to a provider through the `openai` SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.exchange import Exchange
from geode.adapters.http_json.model import HttpModel
from geode.adapters.http_json.openai_client import openai_client
from geode.domain.request import Capabilities
from geode.domain.routing import DialectName

if TYPE_CHECKING:
    import httpx2

CAPABILITIES = Capabilities(images="after_results")


def chat_model(name: str, endpoint: Endpoint, http: httpx2.AsyncClient, *, dialect: DialectName = "generic") -> HttpModel:
    """The adapter `name`, which speaks `dialect` to `endpoint` over `http`, which stays its caller's. Imports the SDK."""
    client, errors = openai_client(endpoint, http)
    return HttpModel(name, CAPABILITIES, ChatWire(DIALECTS[dialect]), Exchange(client, "/chat/completions", endpoint, errors))
