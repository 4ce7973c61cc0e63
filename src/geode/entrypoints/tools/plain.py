"""Types that are JSON already: their schema and the way back, by a table.

Most tools take nothing else, and pydantic costs a program a fifth of a second of CPU before its first
call. What is not here goes through it (described.py).
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NotRequired, Required, TypeAlias, Union, get_args, get_origin

from geode.ports.tools import ToolRetry

Convert: TypeAlias = Callable[[Any], Any]
Inside: TypeAlias = frozenset[type]


@dataclass(frozen=True, slots=True)
class Shape:
    """A type as JSON. `takes`: what its JSON is in Python; `convert`: from there to the type, None for "as it is"."""

    schema: Mapping[str, Any]
    takes: frozenset[type]
    convert: Convert | None = None


def plain(annotation: Any, inside: Inside = frozenset()) -> Shape | None:
    """The shape of `annotation`, or None if the table does not know it. `inside`: the TypedDicts around it."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is None:
        return _simple(annotation, inside)
    if origin is Annotated:
        return _annotated(plain(args[0], inside), args[1:])
    if origin is Literal:
        return _choice(args, args)
    if origin in (Union, UnionType):
        return _union([plain(member, inside) for member in args])
    if origin in (dict, Mapping):
        key, value = args or (str, Any)
        return _mapping(plain(value, inside)) if key is str else None
    if origin in _ARRAYS:
        # A tuple of a fixed length is for pydantic.
        return None if origin is tuple and args[1:] != (...,) else _array(plain(args[0] if args else Any, inside), origin)
    return None


def _whole(value: Any) -> int:
    return value if type(value) is int else int(value)


def _real(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ToolRetry("a number in the arguments is too large") from None


def _shape(name: str, *takes: type, convert: Convert | None = None) -> Shape:
    return Shape({"type": name}, frozenset(takes), convert)


_NULL: Final = _shape("null", NoneType)
_ANY: Final = Shape({}, frozenset({str, int, float, bool, NoneType, list, dict}))
_INTEGER: Final = _shape("integer", int, float, convert=_whole)
_NUMBER: Final = _shape("number", int, float, convert=_real)
_SCALARS: Final[dict[Any, Shape]] = {
    str: _shape("string", str),
    int: _INTEGER,
    float: _NUMBER,
    bool: _shape("boolean", bool),
    NoneType: _NULL,
    Any: _ANY,
    object: _ANY,
}
# How an array becomes each of them; None: it is one.
_ARRAYS: Final[dict[Any, Convert | None]] = {list: None, Sequence: None, tuple: tuple, set: set, frozenset: frozenset}


def _simple(annotation: Any, inside: Inside) -> Shape | None:
    if annotation is None:
        return _NULL
    if not isinstance(annotation, type) and annotation is not Any:
        # A NewType is its type. Whatever else this is, the table does not know it.
        supertype = getattr(annotation, "__supertype__", None)
        return None if supertype is None else plain(supertype, inside)
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if annotation in _ARRAYS:
        return _array(_ANY, annotation)
    return _mapping(_ANY) if annotation is dict else _of_class(annotation, inside)


def _of_class(kind: Any, inside: Inside) -> Shape | None:
    if issubclass(kind, Enum):
        members = list(kind)
        # Values that are no JSON could not be sent: then the names are the choice.
        return _choice([member.value for member in members], members) or _choice([member.name for member in members], members)
    return _typed_dict(kind, inside) if typing.is_typeddict(kind) else None


def _annotated(inner: Shape | None, marks: Sequence[Any]) -> Shape | None:
    if inner is None or not all(isinstance(mark, str) for mark in marks):
        return None
    return replace(inner, schema={**inner.schema, "description": marks[0]})


def _choice(values: Sequence[Any], results: Sequence[Any]) -> Shape | None:
    """One of `values`, each of which means the one of `results` at its place."""
    kinds = {type(value) for value in values}
    if not values or not kinds <= {str, int, float, bool, NoneType}:
        return None
    named = _SCALARS[kinds.pop()].schema if len(kinds) == 1 else {}
    takes = frozenset({kind for value in values for kind in _SCALARS[type(value)].takes})
    # True equals 1 in Python and not in JSON; 1.0 equals 1 in both.
    table = {(type(value) is bool, value): result for value, result in zip(values, results, strict=True)}
    same = values is results and takes.isdisjoint({int, float})
    return Shape({**named, "enum": list(values)}, takes, None if same else lambda value: table[type(value) is bool, value])


def _union(shapes: Sequence[Shape | None]) -> Shape | None:
    """Any of `shapes`. If two look alike in JSON and are not alike in Python, which is meant is for pydantic to find out."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    if _INTEGER in known and _NUMBER in known:
        known = [replace(shape, convert=None) if shape in (_INTEGER, _NUMBER) else shape for shape in known]
    schema = {"anyOf": [shape.schema for shape in known]}
    takes = frozenset[type]().union(*(shape.takes for shape in known))
    ways = {kind: shape.convert for shape in known for kind in shape.takes if shape.convert}
    if not ways:
        return Shape(schema, takes)
    if sum(len(shape.takes) for shape in known) > len(takes):
        return None

    def convert(value: Any) -> Any:
        way = ways.get(type(value))
        return way(value) if way else value

    return Shape(schema, takes, convert)


def _array(item: Shape | None, kind: Any) -> Shape | None:
    if item is None:
        return None
    schema: dict[str, Any] = {"type": "array", "items": item.schema}
    make, inner = _ARRAYS[kind], item.convert
    if kind in (set, frozenset):
        if inner is None and not item.takes.isdisjoint({list, dict}):
            return None  # some items could not be in a set
        schema["uniqueItems"] = True
    if inner is None:
        return Shape(schema, frozenset({list}), make)
    return Shape(schema, frozenset({list}), lambda value: (make or list)(map(inner, value)))


def _mapping(item: Shape | None) -> Shape | None:
    if item is None:
        return None
    schema = {"type": "object", "additionalProperties": item.schema or True}
    inner = item.convert
    if inner is None:
        return Shape(schema, frozenset({dict}))
    return Shape(schema, frozenset({dict}), lambda value: {key: inner(one) for key, one in value.items()})


def _typed_dict(kind: type, inside: Inside) -> Shape | None:
    if kind in inside:
        return None
    properties: dict[str, Any] = {}
    required: list[str] = []
    ways: list[tuple[str, Convert]] = []
    always: frozenset[str] = getattr(kind, "__required_keys__", frozenset())
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        # With annotations as text the class itself cannot tell which keys are required.
        mark = get_origin(hint)
        marked = mark in (Required, NotRequired)
        shape = plain(get_args(hint)[0] if marked else hint, inside | {kind})
        if shape is None:
            return None
        properties[name] = shape.schema
        if mark is Required or (not marked and name in always):
            required.append(name)
        if shape.convert:
            ways.append((name, shape.convert))
    schema = object_schema(properties, required)
    if kind.__doc__:
        schema = {"description": kind.__doc__.strip(), **schema}

    def convert(value: Any) -> Any:
        return {**value, **{name: way(value[name]) for name, way in ways if name in value}}

    return Shape(schema, frozenset({dict}), convert if ways else None)


def object_schema(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    """A closed object: what has no name in it is refused."""
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return {**schema, "additionalProperties": False}
