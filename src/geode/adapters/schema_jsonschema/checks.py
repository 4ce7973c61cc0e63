"""From the text of a schema to the function that checks arguments against it."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import Any, Final, TypeAlias, cast

from referencing.exceptions import Unresolvable

from geode.adapters.schema_jsonschema.brief import SMALL_BYTES, brief_copy, size_of
from geode.adapters.schema_jsonschema.dialects import counting, draft_of, errors_of_schema, plain, registry_with, undeclared
from geode.adapters.schema_jsonschema.meter import MAX_ERRORS, MAX_SCHEMA_OBJECTS, MAX_STEPS, METER, Shape, Unchecked
from geode.domain.json_value import dump_json, pointer_part
from geode.ports.schema import Check

# The steps to a value, and what is wrong with it.
_Error: TypeAlias = tuple[list[str], str]
_Errors: TypeAlias = Callable[[Any], Iterator[_Error]]

_MESSAGE_CHARS: Final = 300
_POINTER_CHARS: Final = 200
# What begins each keyword that refers, or can be referred to, by name.
_REFERS: Final = '"$'
# Keywords that look beyond the place where they stand.
_WHOLE: Final = (_REFERS, '"unevaluated')
# Keywords that are counted always: they go to a place again, or take longer the more they are given.
_COUNTED: Final = (_REFERS, '"unevaluated', '"uniqueItems"', '"pattern')
# What the library raises for a schema that it cannot apply: a huge number, a value that is no schema.
_INAPPLICABLE: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def check_of(schema_text: str) -> Check:
    """See `JsonschemaValidator.compile`."""
    try:
        plainly, counted, shape = _compiled(schema_text)
    except RecursionError:
        raise ValueError("/: the schema is nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"/: the schema cannot be applied ({type(error).__name__})") from None

    # What each byte of arguments may cost, where nothing is looked at by the same schema twice.
    steps_per_byte = inf if plainly is None else shape.schemas * shape.per_visit

    def check(value: Mapping[str, Any]) -> tuple[str, ...]:
        METER.begin(shape)
        found: list[_Error] = []
        try:
            size = size_of(value)
            if plainly is not None and size <= SMALL_BYTES and size * steps_per_byte <= MAX_STEPS:
                errors = plainly(value)
            else:
                errors = counted(value if size <= SMALL_BYTES else brief_copy(value, _visited))
            for error in errors:
                found.append(error)
                if len(found) == MAX_ERRORS:
                    break
        except Unchecked as error:
            found.append((_steps_to(error.value, value), error.why))
        except Unresolvable as error:
            found.append(([], f"the schema refers to {error.ref}, which is not in it"))
        except RecursionError:
            found.append(([], "the schema refers to itself without end, or the arguments are nested too deeply for it"))
        except _INAPPLICABLE as error:
            found.append(([], f"the schema cannot be applied to these arguments ({type(error).__name__})"))
        return tuple(f"{_pointer(steps)}: {message[:_MESSAGE_CHARS]}" for steps, message in sorted(found))

    return check


def _compiled(schema_text: str) -> tuple[_Errors | None, _Errors, Shape]:
    """What finds errors without counting, if that can be right; what finds them and counts; and how much there is of both."""
    given: Any = json.loads(schema_text)
    draft = draft_of(given)
    schema = undeclared(given)
    shape = Shape.of(schema)
    if shape.schemas > MAX_SCHEMA_OBJECTS:
        raise ValueError(f"/: the schema has {shape.schemas} objects in it; at most {MAX_SCHEMA_OBJECTS} are checked")
    if len(schema_text) > SMALL_BYTES:
        schema = brief_copy(schema, lambda: None)
    for error in errors_of_schema(schema, draft, shape):
        what = str(error.cause or error.message)
        raise ValueError(f"{_pointer(error.absolute_path)}: {what[:_MESSAGE_CHARS]}")
    text = dump_json(schema)
    if '"unevaluatedProperties"' in text and '"patternProperties"' in text:
        # jsonschema would run the patterns in its own way, which can hang.
        raise ValueError("/: unevaluatedProperties beside patternProperties is not checked; write additionalProperties")
    plainly = None if any(word in text for word in _COUNTED) else _errors_of(schema, text, draft, plain(draft))
    return plainly, _errors_of(schema, text, draft, counting(draft)), shape


def _errors_of(schema: Any, text: str, draft: Any, made: Any) -> _Errors:
    registry = registry_with(schema if _REFERS in text else None, draft)
    outer, properties = _parted(schema, text)
    validator = made(outer, registry=registry)
    parts = {name: made(part, registry=registry) for name, part in properties.items()}

    def errors(value: Any) -> Iterator[_Error]:
        for error in validator.iter_errors(value):
            yield [str(step) for step in error.absolute_path], error.message
        for name, part in parts.items():
            if name in value:
                for error in part.iter_errors(value[name]):
                    yield [name, *map(str, error.absolute_path)], error.message

    return errors


def _parted(schema: dict[str, Any], text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema with its properties left open, and their schemas, to be checked apart.

    jsonschema makes a validator for each property at each check, which is a third of what a check
    costs; these are made once. What may refer to the whole schema stays whole.
    """
    properties = schema.get("properties")
    if not isinstance(properties, dict) or any(word in text for word in _WHOLE):
        return schema, {}
    return {**schema, "properties": dict.fromkeys(properties, True)}, cast("dict[str, Any]", properties)


def _visited() -> None:
    METER.spend(0.5)


def _steps_to(text: str | None, value: object) -> list[str]:
    """Where this text is in the arguments, or the object that it is a name in; none where it is in neither."""
    waiting = deque[tuple[list[str], object]]([] if text is None else [([], value)])
    while waiting:
        steps, one = waiting.popleft()
        if isinstance(one, Mapping):
            named = cast("Mapping[str, object]", one)
            if text in named:
                return steps
            waiting.extend(([*steps, name], member) for name, member in named.items())
        elif isinstance(one, list):
            waiting.extend(([*steps, str(index)], member) for index, member in enumerate(cast("list[object]", one)))
        elif isinstance(one, str) and one == text:
            return steps
    return []


def _pointer(steps: Iterable[str | int]) -> str:
    pointer = "/" + "/".join(pointer_part(str(step)) for step in steps)
    return pointer if len(pointer) <= _POINTER_CHARS else f"{pointer[:_POINTER_CHARS]}…"
