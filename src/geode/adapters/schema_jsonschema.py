"""The schema port over `jsonschema` (JSON Schema 2020-12), with a registry that is closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from geode.domain.json_value import pointer_part
from geode.ports.schema import Check

MAX_ERRORS: Final = 10


class JsonschemaValidator:
    """See `geode.ports.schema.SchemaValidator`. `jsonschema` is imported when a schema is first compiled."""

    def compile(self, schema: Mapping[str, Any]) -> Check:
        """A check that lists all errors, at most ten, each with its JSON pointer.

        ValueError names where the schema itself is wrong, and any reference that is not local.
        """
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError, ValidationError
        from referencing import Registry
        from referencing.exceptions import Unresolvable

        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise ValueError(f"{_pointer(error.absolute_path)}: {error.message}") from None
        # An empty registry has no way to fetch: what is not in the document does not resolve.
        registry: Registry[Any] = Registry()
        validator = Draft202012Validator(schema, registry=registry)
        is_valid, iter_errors = validator.is_valid, validator.iter_errors

        def check(value: Mapping[str, Any]) -> tuple[str, ...]:
            try:
                if is_valid(value):
                    return ()
                found: list[ValidationError] = sorted(iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
            except Unresolvable as error:
                return (f"/: the schema refers to {error.ref}, which is not in it",)
            return tuple(f"{_pointer(error.absolute_path)}: {error.message[:300]}" for error in found[:MAX_ERRORS])

        return check


def _pointer(path: Iterable[str | int]) -> str:
    return "/" + "/".join(pointer_part(str(part)) for part in path)
