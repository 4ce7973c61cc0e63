"""The schema port over `jsonschema` (JSON Schema 2020-12), with a registry that is closed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from geode.domain.json_value import dump_json, pointer_part
from geode.ports.schema import Check

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

MAX_ERRORS: Final = 10
# What the library raises for a schema that it cannot apply: a reference to itself, a pattern, a huge number.
_INAPPLICABLE: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class JsonschemaValidator:
    """See `geode.ports.schema.SchemaValidator`. `jsonschema` is imported when a schema is first compiled."""

    def compile(self, schema: Mapping[str, Any]) -> Check:
        """A check that lists the first ten errors at most, each with its JSON pointer, and never raises.

        ValueError names where the schema itself is wrong; a reference that is not local, or never ends,
        is an error of the arguments that meet it. Equal schemas share one check, whichever session they belong to.
        """
        return _compiled(dump_json(schema))


@lru_cache(maxsize=1024)
def _compiled(schema_text: str) -> Check:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    schema = json.loads(schema_text)
    # An empty registry has no way to fetch: what is not in the document does not resolve.
    registry: Registry[Any] = Registry()
    try:
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema, registry=registry)
    except SchemaError as error:
        raise ValueError(f"{_pointer(error.absolute_path)}: {error.message}") from None
    except _INAPPLICABLE as error:
        raise ValueError(f"/: the schema cannot be applied ({type(error).__name__})") from None

    def check(value: Mapping[str, Any]) -> tuple[str, ...]:
        try:
            found = sorted(islice(validator.iter_errors(value), MAX_ERRORS), key=_place)
        except Unresolvable as error:
            return (f"/: the schema refers to {error.ref}, which is not in it",)
        except _INAPPLICABLE as error:
            return (f"/: the schema cannot be applied to these arguments ({type(error).__name__})",)
        return tuple(f"{_pointer(error.absolute_path)}: {error.message[:300]}" for error in found)

    return check


def _place(error: ValidationError) -> list[str]:
    return [str(part) for part in error.absolute_path]


def _pointer(path: Iterable[str | int]) -> str:
    return "/" + "/".join(pointer_part(str(part)) for part in path)
