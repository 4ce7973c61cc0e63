"""Connecting the Messages wire to a provider through the `anthropic` SDK."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.http_json.clients import own_headers
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.exchange import HTTP_ERRORS, Exchange
from geode.adapters.http_json.model import HttpModel
from geode.adapters.http_json.refusals import watch
from geode.adapters.http_json.signing import PLACEHOLDER, sign
from geode.domain.models import THINKING_KINDS, ModelRow
from geode.domain.request import Capabilities
from geode.domain.schema_profile import ANTHROPIC

if TYPE_CHECKING:
    import httpx2

# The version of the API that this wire is written for.
API_VERSION: Final = "2026-10-21"
CAPABILITIES: Final = Capabilities(
    # That version takes no sampling parameter (wire facts A5).
    temperature=False,
    thinking=THINKING_KINDS,
    tool_search=True,
    schemas=ANTHROPIC,
    response_schema=True,
    cache_key=True,
)


def messages_model(name: str, endpoint: Endpoint, http: httpx2.AsyncClient, *, rows: tuple[ModelRow, ...] = ()) -> HttpModel:
    """The adapter `name`, which speaks to `endpoint` over `http`, which stays its caller's. `rows` are what is known of
    its models.

    Imports the SDK, which takes seconds. Everything is passed explicitly, so that the SDK takes no
    key, address, profile or header from the environment; retries are geode's, and so is the key.
    """
    import anthropic

    class Client(anthropic.AsyncAnthropic):
        async def _prepare_request(self, request: httpx2.Request) -> None:
            await super()._prepare_request(request)
            sign(request)

    headers = {
        "Authorization": f"Bearer {PLACEHOLDER}",
        "Content-Type": "application/json",
        "Accept": "application/json",
        "anthropic-version": API_VERSION,
    }
    watch(http)
    client = Client(
        api_key=PLACEHOLDER,
        base_url=endpoint.url,
        http_client=http,
        max_retries=0,
        timeout=600.0,
        webhook_key="",
        open_telemetry=False,
        default_headers=own_headers(headers, "ANTHROPIC_CUSTOM_HEADERS", anthropic.omit),
    )
    exchange = Exchange(client, "/v1/messages", endpoint, (anthropic.APIError, *HTTP_ERRORS))
    return HttpModel(name, replace(CAPABILITIES, models=rows), MessagesWire(), exchange)
