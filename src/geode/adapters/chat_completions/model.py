"""Connecting the Chat wire to a provider through the `openai` SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.exchange import Exchange
from geode.adapters.http_json.model import HttpModel
from geode.adapters.http_json.openai_client import openai_client
from geode.domain.content import MediaKind
from geode.domain.models import ModelRow
from geode.domain.pictures import GLM_PICTURES, OPENAI_PICTURES
from geode.domain.relay import NO_OPTIONS, RelayOptions
from geode.domain.request import Capabilities
from geode.domain.targets import DialectName, Quirks

if TYPE_CHECKING:
    import httpx2

NO_QUIRKS: Final = Quirks()
# A plain text goes out as text.
_IMAGES: Final[frozenset[MediaKind]] = frozenset({"image", "image_url", "text"})
# Recorded traffic has a PDF as data; a relay takes an address in its place (wire facts C3, C5).
_PDFS: Final[frozenset[MediaKind]] = frozenset({*_IMAGES, "pdf"})
_DOCUMENTS: Final[frozenset[MediaKind]] = frozenset({*_PDFS, "document_url"})
CAPABILITIES: Final[Mapping[DialectName, Capabilities]] = {
    "openai": Capabilities(
        images="after_results",
        media=_PDFS,
        schemas=DIALECTS["openai"].schemas,
        pictures=OPENAI_PICTURES,
        cache_key=True,
        response_schema=True,
    ),
    "openrouter": Capabilities(
        images="after_results",
        media=_DOCUMENTS,
        schemas=DIALECTS["openrouter"].schemas,
        cache_key=True,
        response_schema=True,
    ),
    # Its JSON mode knows no schema; more output than that it refuses (wire facts A5).
    "glm": Capabilities(
        images="after_results",
        media=_IMAGES,
        schemas=DIALECTS["glm"].schemas,
        pictures=GLM_PICTURES,
        most_output=131_072,
    ),
    "generic": Capabilities(images="after_results", media=_PDFS, schemas=DIALECTS["generic"].schemas),
}
# An endpoint that does not take the schema would answer without it.
_NEEDS_PARAMETERS: Final = "the option require_parameters is false, and a schema needs it true; leave one of them out"


def chat_model(
    name: str,
    endpoint: Endpoint,
    http: httpx2.AsyncClient,
    *,
    rows: tuple[ModelRow, ...] = (),
    dialect: DialectName = "generic",
    quirks: Quirks = NO_QUIRKS,
    options: RelayOptions = NO_OPTIONS,
) -> HttpModel:
    """The adapter `name`, which speaks `dialect` to `endpoint` over `http`, which stays its caller's. Imports the SDK.

    `rows` are what is known of its models, `quirks` what the server does otherwise than its dialect, `options` the caller's
    own for a relay.
    """
    endpoint = replace(endpoint, headers={**endpoint.headers, **options.headers}) if options.headers else endpoint
    client, errors = openai_client(endpoint, http)
    exchange = Exchange(client, "/chat/completions", endpoint, errors)
    able = replace(with_quirks(CAPABILITIES[dialect], quirks), models=rows)
    if options.require_parameters is False:
        able = replace(able, schema_barred=_NEEDS_PARAMETERS)
    return HttpModel(name, able, ChatWire(DIALECTS[dialect].with_quirks(quirks), options), exchange)


def with_quirks(able: Capabilities, quirks: Quirks) -> Capabilities:
    """What a server takes that does some things otherwise than its dialect."""
    return replace(
        able,
        supports_tools=able.supports_tools if quirks.tools is None else quirks.tools,
        choices=able.choices if quirks.choice is None else quirks.choice,
        images=quirks.images or able.images,
        response_schema=able.response_schema if quirks.response_schema is None else quirks.response_schema,
    )
