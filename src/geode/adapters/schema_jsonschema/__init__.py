"""The schema port over `jsonschema`, with a registry that is closed and work that is bounded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from geode.adapters.schema_jsonschema.meter import MAX_ERRORS, MAX_SCHEMA_CHARS, MAX_SCHEMA_OBJECTS, MAX_STEPS, PATTERN_SECONDS
from geode.domain.json_value import dump_json
from geode.ports.schema import Check

__all__ = ["MAX_ERRORS", "MAX_SCHEMA_CHARS", "MAX_SCHEMA_OBJECTS", "MAX_STEPS", "PATTERN_SECONDS", "JsonschemaValidator"]


class JsonschemaValidator:
    """See `geode.ports.schema.SchemaValidator`. `jsonschema` is imported when a schema is first compiled.

    The draft is the one that the root's `$schema` names (2020-12, 2019-09, 7, 6 or 4), else 2020-12; a `$schema`
    further inside changes nothing. `format` is an annotation, as the drafts have it by default: it is not checked.
    For the dialect of patterns see `geode.adapters.patterns.dialect`.
    """

    def compile(self, schema: Mapping[str, Any]) -> Check:
        """A check that lists the first ten errors at most, each with its JSON pointer, and never raises.

        ValueError names where the schema itself is wrong, or the bound that it exceeds: `MAX_SCHEMA_CHARS` as JSON,
        `MAX_SCHEMA_OBJECTS`. A reference that is not local, or never ends, is an error of the arguments that meet it.
        One check does `MAX_STEPS` steps of work at most, and its patterns take `PATTERN_SECONDS`: arguments that
        need more are not checked, which is an error of them. Equal schemas share one check, whichever session they
        belong to.
        """
        try:
            text = dump_json(schema)
        except (RecursionError, TypeError, ValueError) as error:
            raise ValueError(f"/: the schema is no JSON ({error})") from None
        if len(text) > MAX_SCHEMA_CHARS:
            raise ValueError(f"/: the schema has {len(text)} characters as JSON; at most {MAX_SCHEMA_CHARS} are checked")
        return _compiled(text)


@lru_cache(maxsize=1024)
def _compiled(schema_text: str) -> Check:
    from geode.adapters.schema_jsonschema.checks import check_of

    return check_of(schema_text)
