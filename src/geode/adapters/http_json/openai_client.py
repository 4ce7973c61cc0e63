"""The `openai` SDK's client, for the two wires that go through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geode.adapters.http_json.clients import own_headers
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.exchange import HTTP_ERRORS
from geode.adapters.http_json.refusals import watch
from geode.adapters.http_json.signing import PLACEHOLDER, sign

if TYPE_CHECKING:
    import httpx2
    import openai


def openai_client(endpoint: Endpoint, http: httpx2.AsyncClient) -> tuple[openai.AsyncOpenAI, tuple[type[Exception], ...]]:
    """A client without retries and without a key of its own, and the exceptions that mean a failed call.

    Imports the SDK, which takes a second. Everything is passed explicitly, so that the SDK takes no
    key, address, organisation or header from the environment. `http` stays its caller's.
    """
    import openai

    class Client(openai.AsyncOpenAI):
        async def _prepare_request(self, request: httpx2.Request) -> None:
            await super()._prepare_request(request)
            sign(request)

    headers: dict[str, Any] = {
        "OpenAI-Organization": openai.omit,
        "OpenAI-Project": openai.omit,
        "Authorization": f"Bearer {PLACEHOLDER}",
        "Content-Type": "application/json",
        "Accept": "application/json",
    }
    watch(http)
    client = Client(
        api_key=PLACEHOLDER,
        base_url=endpoint.url,
        http_client=http,
        max_retries=0,
        timeout=600.0,
        webhook_secret="",
        default_headers=own_headers(headers, "OPENAI_CUSTOM_HEADERS", openai.omit),
    )
    # Unlike the other SDK this one lets errors of the transport through as they are: a connection that
    # was left over from another event loop is a RuntimeError.
    return client, (openai.APIError, *HTTP_ERRORS, RuntimeError)
