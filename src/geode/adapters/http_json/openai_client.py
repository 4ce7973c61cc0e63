"""The `openai` SDK's client, for the two wires that go through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geode.adapters.http_json.clients import own_headers
from geode.adapters.http_json.endpoint import Endpoint

if TYPE_CHECKING:
    import httpx2
    import openai


def openai_client(endpoint: Endpoint, http: httpx2.AsyncClient) -> tuple[openai.AsyncOpenAI, tuple[type[Exception], ...]]:
    """A client without retries of its own, and the exceptions that mean a failed call.

    Imports the SDK, which takes a second. Everything is passed explicitly, so that the SDK takes no
    key, address, organisation or header from the environment. `http` stays its caller's.
    """
    import httpx2
    import openai

    headers: dict[str, Any] = {
        "OpenAI-Organization": openai.omit,
        "OpenAI-Project": openai.omit,
        "Authorization": f"Bearer {endpoint.api_key}",
        "Content-Type": "application/json",
        "Accept": "application/json",
    }
    client = openai.AsyncOpenAI(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        http_client=http,
        max_retries=0,
        timeout=600.0,
        webhook_secret="",
        default_headers=own_headers(headers, "OPENAI_CUSTOM_HEADERS", openai.omit),
    )
    # Unlike the other SDK this one lets errors of the transport through as they are.
    return client, (openai.APIError, httpx2.HTTPError, httpx2.StreamError, OSError, RuntimeError)
