"""Types that pydantic describes: models, dataclasses, dates, constrained types, and all the rest.

This module imports pydantic; it is imported for the first parameter that needs it.
"""

from __future__ import annotations

import functools
import operator
import re
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Final, Literal, NotRequired, Required, Union, get_args, get_origin

import typing_extensions
from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import SchemaError

from geode.application.structured import Misfit
from geode.domain.errors import Misuse
from geode.domain.json_value import dump_bytes, pointer_part
from geode.entrypoints.tools.plain import Convert, Shape
from geode.entrypoints.tools.source import Source
from geode.ports.tools import ToolRetry

_SHOWN_ERRORS: Final = 10
_SHOWN_LETTERS: Final = 200


class _Schemas(GenerateJsonSchema):
    """pydantic's schemas without the titles that it makes of names, and without its warnings."""

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Nobody who runs the tool could do anything about a default that has no JSON."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def describe(source: Source, annotations: Mapping[str, Any]) -> tuple[dict[str, Shape], dict[str, Any]]:
    """The shape of each parameter, and the `$defs` of all: made together, so that types of one name do not clash."""
    adapters = {name: _adapter(source, name, annotation) for name, annotation in annotations.items()}
    schemas, shared = TypeAdapter.json_schemas(
        [(name, "validation", adapter) for name, adapter in adapters.items()], schema_generator=_Schemas
    )
    return (
        {name: Shape(_own(schemas[name, "validation"]), frozenset(), _way(name, one)) for name, one in adapters.items()},
        {name: _untitled(name, schema) for name, schema in shared.get("$defs", {}).items()},
    )


def described_answer(kind: Any) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    """The schema of an answer that is a `kind`, and what makes one of JSON; Misuse for a type that no schema describes."""
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(_known_to_pydantic(kind))
        schema = adapter.json_schema(schema_generator=_Schemas)
    except (PydanticUserError, SchemaError, NameError, TypeError, ValueError, RecursionError) as error:
        raise Misuse("answer-schema", f"answer= is a type that no schema describes: {_why(error)}") from None

    def convert(value: Any) -> Any:
        try:
            return adapter.validate_json(dump_bytes(value))
        except ValidationError as error:
            raise Misfit(tuple(_lines(error, ()))) from error

    return schema, convert


def _adapter(source: Source, name: str, annotation: Any) -> TypeAdapter[Any]:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(_known_to_pydantic(annotation))
        adapter.json_schema(schema_generator=_Schemas)
    except (PydanticUserError, SchemaError, NameError, TypeError, ValueError, RecursionError) as error:
        why = _why(error)
        way_out = "Use JSON types, a dataclass, a TypedDict or a pydantic model"
        source.refuse("tool-type", f'parameter "{name}" has a type that no schema describes: {why}. {way_out}')
    return adapter


def _why(error: Exception) -> str:
    return str(error).partition("\n")[0].partition(". Set ")[0].rstrip(".")


def _own(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of one parameter. What stands beside a reference may be said of another use of the type: it is left out."""
    return {"$ref": schema["$ref"]} if "$ref" in schema else dict(schema)


def _untitled(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A definition without the title that repeats its name; a title that somebody chose stays."""
    title = re.sub(r"[^\w.-]", "_", str(schema.get("title", "")))
    return {key: value for key, value in schema.items() if key != "title" or not name.endswith(title)}


def _way(name: str, adapter: TypeAdapter[Any]) -> Convert:
    def convert(value: Any) -> Any:
        try:
            # Arguments are JSON: a strict model takes a date as text from JSON, and not from Python.
            return adapter.validate_json(dump_bytes(value))
        except ValidationError as error:
            raise ToolRetry(_told(name, error)) from error

    return convert


def _told(name: str, error: ValidationError) -> str:
    """Place and message of each error, for the model."""
    return "\n".join(["the arguments are not accepted:", *_lines(error, (name,))])


def _lines(error: ValidationError, before: Sequence[str]) -> list[str]:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{''.join(f'/{pointer_part(str(step))}' for step in (*before, *one['loc'])) or '/'}: {one['msg'][:_SHOWN_LETTERS]}"
        for one in errors[:_SHOWN_ERRORS]
    ]
    return [*lines, f"and {len(errors) - _SHOWN_ERRORS} more"] if len(errors) > _SHOWN_ERRORS else lines


def _known_to_pydantic(annotation: Any, inside: frozenset[Any] = frozenset()) -> Any:
    """`annotation` with every TypedDict of `typing` as one of `typing_extensions`: before Python 3.12 pydantic needs those."""
    if sys.version_info >= (3, 12):
        return annotation
    if typing.is_typeddict(annotation) and annotation not in inside:
        return _twin(annotation, inside | {annotation})
    origin, args = get_origin(annotation), get_args(annotation)
    if not args or origin is Literal:
        return annotation
    if origin is Annotated:
        return Annotated[(_known_to_pydantic(args[0], inside), *args[1:])]
    changed = tuple(_known_to_pydantic(arg, inside) for arg in args)
    if changed == args:
        return annotation
    return functools.reduce(operator.or_, changed) if origin in (Union, UnionType) else origin[changed]


def _twin(kind: Any, inside: frozenset[Any]) -> Any:
    fields: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        mark = get_origin(hint)
        marked = mark in (Required, NotRequired)
        inner = _known_to_pydantic(get_args(hint)[0] if marked else hint, inside)
        needed = mark is Required or (not marked and name in kind.__required_keys__)
        fields[name] = Required[inner] if needed else NotRequired[inner]
    make: Any = typing_extensions.TypedDict
    twin = make(kind.__name__, fields)
    twin.__doc__, twin.__module__ = kind.__doc__, kind.__module__
    return twin
