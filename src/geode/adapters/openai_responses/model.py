"""Connecting the Responses wire to a provider through the `openai` SDK."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.exchange import Exchange
from geode.adapters.http_json.model import HttpModel
from geode.adapters.http_json.openai_client import openai_client
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.models import ModelRow
from geode.domain.pictures import OPENAI_PICTURES
from geode.domain.request import Capabilities
from geode.domain.schema_profile import OPENAI
from geode.domain.targets import DialectName

if TYPE_CHECKING:
    import httpx2

CAPABILITIES: Final = Capabilities(schemas=OPENAI, pictures=OPENAI_PICTURES, response_schema=True, cache_key=True)
# The ChatGPT backend refuses a temperature and a bound of the output (wire facts F).
CODEX_CAPABILITIES: Final = replace(CAPABILITIES, temperature=False, output_limit=False, cache_key=False)


def responses_model(
    name: str,
    endpoint: Endpoint,
    http: httpx2.AsyncClient,
    *,
    rows: tuple[ModelRow, ...] = (),
    dialect: DialectName = "openai",
) -> HttpModel:
    """The adapter `name`, which speaks to `endpoint` over `http`, which stays its caller's. Imports the SDK.

    `rows` are what is known of its models.
    """
    client, errors = openai_client(endpoint, http)
    able, wire = replace(capabilities_for(dialect), models=rows), ResponsesWire(dialect == "codex")
    return HttpModel(name, able, wire, Exchange(client, "/responses", endpoint, errors))


def capabilities_for(dialect: DialectName) -> Capabilities:
    """What a server of the dialect takes. A key for its cache is OpenAI's own; others may refuse a field they do not know."""
    if dialect == "codex":
        return CODEX_CAPABILITIES
    return CAPABILITIES if dialect == "openai" else replace(CAPABILITIES, cache_key=False)
