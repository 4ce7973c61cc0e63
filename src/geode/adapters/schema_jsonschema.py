"""The schema port over `jsonschema` (JSON Schema 2020-12), with a registry that is closed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from geode.domain.json_value import dump_json, pointer_part
from geode.ports.schema import Check

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

MAX_ERRORS: Final = 10


class JsonschemaValidator:
    """See `geode.ports.schema.SchemaValidator`. `jsonschema` is imported when a schema is first compiled."""

    def compile(self, schema: Mapping[str, Any]) -> Check:
        """A check that lists all errors, at most ten, each with its JSON pointer.

        ValueError names where the schema itself is wrong; a reference that is not local is an error of
        the arguments that meet it. Equal schemas share one check, whichever session they belong to.
        """
        return _compiled(dump_json(schema))


@lru_cache(maxsize=1024)
def _compiled(schema_text: str) -> Check:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    schema = json.loads(schema_text)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"{_pointer(error.absolute_path)}: {error.message}") from None
    # An empty registry has no way to fetch: what is not in the document does not resolve.
    registry: Registry[Any] = Registry()
    validator = Draft202012Validator(schema, registry=registry)

    def check(value: Mapping[str, Any]) -> tuple[str, ...]:
        try:
            if validator.is_valid(value):
                return ()
            found = sorted(validator.iter_errors(value), key=_place)
        except Unresolvable as error:
            return (f"/: the schema refers to {error.ref}, which is not in it",)
        return tuple(f"{_pointer(error.absolute_path)}: {error.message[:300]}" for error in found[:MAX_ERRORS])

    return check


def _place(error: ValidationError) -> list[str]:
    return [str(part) for part in error.absolute_path]


def _pointer(path: Iterable[str | int]) -> str:
    return "/" + "/".join(pointer_part(str(part)) for part in path)
