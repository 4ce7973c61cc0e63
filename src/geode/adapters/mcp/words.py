"""What may be shown of what a server writes."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Final

from geode.adapters.http_json.discretion import Discretion
from geode.adapters.mcp.variables import secrets_of
from geode.domain.json_value import clean_text
from geode.domain.mcp_server import McpServer

# What is shorter may stand anywhere: `1`, `true`, a level of logging.
_SECRET_LETTERS: Final = 8


def discretion_of(server: McpServer, environ: Mapping[str, str]) -> Discretion:
    """Hides what this server was given of variables and headers."""
    from pydantic import SecretStr

    found = Discretion()
    for secret in secrets_of(server, environ):
        if len(secret) >= _SECRET_LETTERS:
            found.add(SecretStr(secret))
    return found


def visible(text: str, most: int) -> str:
    """`text` without control and format characters but for line ends and tabs, at most `most` letters of it."""
    looked_at = clean_text(text[: 2 * most])
    kept = "".join(letter for letter in looked_at if letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cf"))
    return kept if len(kept) <= most and len(text) <= 2 * most else f"{kept[: most - 1]}…"


def one_line(text: str, most: int) -> str:
    """`text` as `visible` has it, on one line."""
    return " ".join(visible(text, most).split())
