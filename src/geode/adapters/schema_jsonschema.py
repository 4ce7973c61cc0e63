"""The schema port over `jsonschema` (JSON Schema 2020-12), with a registry that is closed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final, cast

from geode.domain.json_value import dump_json, pointer_part
from geode.ports.schema import Check

MAX_ERRORS: Final = 10
# Keywords that look beyond the place where they stand.
_WHOLE: Final = ('"$', '"unevaluated')
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
        outer, properties = _parted(schema, schema_text)
        validator = Draft202012Validator(outer, registry=registry)
        parts = {name: Draft202012Validator(part, registry=registry) for name, part in properties.items()}
    except SchemaError as error:
        raise ValueError(f"{_pointer(error.absolute_path)}: {error.message}") from None
    except _INAPPLICABLE as error:
        raise ValueError(f"/: the schema cannot be applied ({type(error).__name__})") from None

    def errors(value: Mapping[str, Any]) -> Iterator[tuple[list[str], str]]:
        for error in validator.iter_errors(value):
            yield [str(step) for step in error.absolute_path], error.message
        for name, part in parts.items():
            if name in value:
                for error in part.iter_errors(value[name]):
                    yield [name, *map(str, error.absolute_path)], error.message

    def check(value: Mapping[str, Any]) -> tuple[str, ...]:
        try:
            found = list(islice(errors(value), MAX_ERRORS))
        except Unresolvable as error:
            return (f"/: the schema refers to {error.ref}, which is not in it",)
        except _INAPPLICABLE as error:
            return (f"/: the schema cannot be applied to these arguments ({type(error).__name__})",)
        return tuple(f"{_pointer(place)}: {message[:300]}" for place, message in sorted(found))

    return check


def _parted(schema: dict[str, Any], schema_text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema with its properties left open, and their schemas, to be checked apart.

    jsonschema makes a validator for each property at each check, which is a third of what a check
    costs; these are made once. What may refer to the whole schema stays whole.
    """
    properties = schema.get("properties")
    if not isinstance(properties, dict) or any(word in schema_text for word in _WHOLE):
        return schema, {}
    return {**schema, "properties": dict.fromkeys(properties, True)}, cast("dict[str, Any]", properties)


def _pointer(path: Iterable[str | int]) -> str:
    return "/" + "/".join(pointer_part(str(part)) for part in path)
