"""Connecting the Responses wire to a provider through the `openai` SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.exchange import Exchange
from geode.adapters.http_json.model import HttpModel
from geode.adapters.http_json.openai_client import openai_client
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.models import GPT
from geode.domain.pictures import OPENAI_PICTURES
from geode.domain.request import Capabilities
from geode.domain.schema_profile import OPENAI

if TYPE_CHECKING:
    import httpx2

CAPABILITIES = Capabilities(models=GPT, schemas=OPENAI, pictures=OPENAI_PICTURES)


def responses_model(name: str, endpoint: Endpoint, http: httpx2.AsyncClient) -> HttpModel:
    """The adapter `name`, which speaks to `endpoint` over `http`, which stays its caller's. Imports the SDK."""
    client, errors = openai_client(endpoint, http)
    return HttpModel(name, CAPABILITIES, ResponsesWire(), Exchange(client, "/responses", endpoint, errors))
