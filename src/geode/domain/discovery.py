"""Tools as other programs describe them: mended where that is sure, told apart where it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from returns.result import Failure, Result, Success

from geode.domain.errors import Misuse
from geode.domain.json_value import clean_json
from geode.domain.projection import projected
from geode.domain.schema_profile import PLAIN
from geode.domain.schema_words import Schema, types_of
from geode.domain.tools import ToolSpec


def discovered(name: str, description: str, schema: object) -> Result[ToolSpec, str]:
    """The tool that a server described, or what is wrong with it: so that one bad tool never hides the others.

    A root without a type, `properties: null` and whatever else `projected` mends for any server are
    mended for good, since no check of arguments could use them; a root that is no object is a failure.
    """
    try:
        return Success(ToolSpec(name, description, _mended(schema)))
    except Misuse as error:
        return Failure(str(error))


def _mended(schema: object) -> Schema:
    """The schema as any server takes it; what is no object's schema is left to be refused."""
    given = cast("Schema", schema)
    if not isinstance(schema, Mapping):
        return given
    try:
        cleaned: dict[str, Any] = clean_json(given)
    except ValueError:
        return given
    types = types_of(cleaned)
    return projected(cleaned, PLAIN) if not types or "object" in types else cleaned
