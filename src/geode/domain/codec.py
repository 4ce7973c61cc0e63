"""One codec for every stored value: conversations, snapshots, journals.

It follows the annotations of the frozen dataclasses: a member of a union carries its class name under
`$`, bytes are base64, decimals are text, enums are their value. The root names its class and the format
number; an unknown tag, a field that is missing or too much, or a newer format is a CodecError that
names the place. A field that is missing and has a default takes it: an older geode did not know it.
Open JSON (`Any`) is kept as it is.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from geode.domain.errors import CodecError, GeodeError
from geode.domain.json_value import clean_json, clean_text, dump_json

FORMAT: Final = 1
_TAG: Final = "$"

Value = TypeVar("Value")

NoneType: Final = type(None)
_UNIONS: Final = (Union, type(int | str))
Read = Callable[[Any, str], Any]


def dumps(value: object) -> str:
    """`value`, a frozen dataclass of the domain, as JSON text."""
    return dump_json({"geode": FORMAT, "kind": type(value).__name__, "value": _dump(value)})


def loads(cls: type[Value], text: str) -> Value:
    """The `cls` that `dumps` wrote. CodecError names the place of whatever is not as written."""
    try:
        root = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"stored {cls.__name__} is not JSON: {error}") from None
    if not isinstance(root, dict) or "geode" not in root:
        raise CodecError(f"stored {cls.__name__} has no format number: geode did not write it")
    document = cast("dict[str, Any]", root)
    if document["geode"] != FORMAT:
        raise CodecError(
            f"stored {cls.__name__} has format {document['geode']!r}; this geode reads {FORMAT}. Use a newer geode"
        )
    if document.get("kind") != cls.__name__:
        raise CodecError(f"stored value is a {document.get('kind')!r}, a {cls.__name__} is wanted")
    return cast("Value", _reader(cls)(document.get("value"), ""))


def _dump(value: object) -> Any:
    match value:
        case Enum():
            return value.value
        case None | bool() | int() | float() | str() if not is_dataclass(value):
            return value
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return str(value)
        case tuple() | list():
            return [_dump(item) for item in cast("tuple[object, ...]", value)]
        case AbstractSet():
            return sorted((_dump(item) for item in cast("AbstractSet[object]", value)), key=dump_json)
        case Mapping():
            return {key: _dump(item) for key, item in cast("Mapping[str, object]", value).items()}
        case _ if is_dataclass(value):
            names = (field.name for field in fields(value) if field.init)
            return {_TAG: type(value).__name__, **{name: _dump(getattr(value, name)) for name in names}}
        case _:
            raise CodecError(f"a {type(value).__name__} cannot be stored")


_readers: dict[Any, Read] = {}


def _reader(kind: Any) -> Read:
    """How a value annotated as `kind` is read back; worked out once for each kind."""
    if kind not in _readers:
        _readers[kind] = _new_reader(kind)
    return _readers[kind]


def _new_reader(kind: Any) -> Read:
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return _open_reader
    if origin in _UNIONS:
        return _union_reader(args)
    if origin is Literal:
        return _literal_reader(args)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return _many_reader(tuple, args[0])
    if origin is tuple:
        return _pair_reader(args)
    if origin is frozenset:
        return _many_reader(frozenset, args[0])
    if origin in (Mapping, dict):
        return _mapping_reader(args[1])
    if isinstance(kind, type):
        return _class_reader(kind)
    raise CodecError(f"no codec for {kind!r}")


def _class_reader(kind: type) -> Read:
    if is_dataclass(kind):
        return _dataclass_reader(kind)
    if issubclass(kind, Enum):
        return _guarded(kind, kind)
    if kind is bytes:
        return _guarded(lambda raw: base64.b64decode(raw, validate=True), kind)
    if kind is Decimal:
        return _guarded(Decimal, kind)
    if kind is float:
        return _float_reader
    return _plain_reader(kind, clean_text if kind is str else None)


def _open_reader(raw: Any, at: str) -> Any:
    """Open JSON, under the law that holds for whatever enters the domain."""
    try:
        return clean_json(raw)
    except ValueError as error:
        raise CodecError(f"{at}{error}") from None


def _float_reader(raw: Any, at: str) -> float:
    """A whole number may stand for a fraction, as long as a float can hold it."""
    if type(raw) not in (int, float):
        raise CodecError(f"{at}: expected float, got {type(raw).__name__}")
    try:
        number = float(raw)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise CodecError(f"{at}: {number} is no number that can be stored")
    return number


def _plain_reader(kind: type, convert: Callable[[Any], Any] | None) -> Read:
    def read(raw: Any, at: str) -> Any:
        if type(raw) is not kind:
            raise CodecError(f"{at}: expected {kind.__name__}, got {type(raw).__name__}")
        return convert(raw) if convert else raw

    return read


def _guarded(convert: Callable[[Any], Any], kind: type) -> Read:
    def read(raw: Any, at: str) -> Any:
        try:
            return convert(raw)
        except (ValueError, TypeError, InvalidOperation) as error:
            raise CodecError(f"{at}: {raw!r} is no {kind.__name__}") from error

    return read


def _literal_reader(words: tuple[Any, ...]) -> Read:
    def read(raw: Any, at: str) -> Any:
        if raw not in words:
            raise CodecError(f"{at}: {raw!r} is none of {', '.join(map(repr, words))}")
        return raw

    return read


def _union_reader(members: tuple[Any, ...]) -> Read:
    """Dataclasses are told apart by their tag; beside them a union holds at most None and one plain kind."""
    # A generic one is stored without what it is generic in.
    members = tuple(get_origin(member) if is_dataclass(get_origin(member)) else member for member in members)
    classes = [member for member in members if isinstance(member, type) and is_dataclass(member)]
    tagged = {member.__name__: member for member in classes}
    plain = [member for member in members if member is not NoneType and member not in classes]

    def read(raw: Any, at: str) -> Any:
        if raw is None and NoneType in members:
            return None
        if isinstance(raw, dict) and _TAG in raw and tagged:
            tag = cast("dict[str, Any]", raw)[_TAG]
            if not isinstance(tag, str) or tag not in tagged:
                raise CodecError(f"{at}: unknown tag {tag!r}; known: {', '.join(tagged)}")
            return _reader(tagged[tag])(raw, at)
        if not plain:
            raise CodecError(f"{at}: expected one of {', '.join(tagged)}, got {type(raw).__name__}")
        return _reader(plain[0])(raw, at)

    return read


def _many_reader(make: Callable[[Any], Any], item: Any) -> Read:
    def read(raw: Any, at: str) -> Any:
        if not isinstance(raw, list):
            raise CodecError(f"{at}: expected a list, got {type(raw).__name__}")
        reader = _reader(item)
        return make(reader(one, f"{at}/{index}") for index, one in enumerate(raw))

    return read


def _pair_reader(kinds: tuple[Any, ...]) -> Read:
    def read(raw: Any, at: str) -> Any:
        if not isinstance(raw, list) or len(raw) != len(kinds):
            raise CodecError(f"{at}: expected a list of {len(kinds)}")
        pairs = enumerate(zip(kinds, raw, strict=True))
        return tuple(_reader(kind)(one, f"{at}/{index}") for index, (kind, one) in pairs)

    return read


def _mapping_reader(kind: Any) -> Read:
    def read(raw: Any, at: str) -> Any:
        if not isinstance(raw, dict):
            raise CodecError(f"{at}: expected an object, got {type(raw).__name__}")
        reader = _reader(kind)
        return {key: reader(one, f"{at}/{key}") for key, one in cast("dict[str, Any]", raw).items()}

    return read


def _dataclass_reader(kind: type) -> Read:
    hints = get_type_hints(kind)
    wanted = {field.name: hints[field.name] for field in fields(kind) if field.init}
    needed = {field.name for field in fields(kind) if field.init and field.default is field.default_factory is MISSING}

    def read(raw: Any, at: str) -> Any:
        if not isinstance(raw, dict):
            raise CodecError(f"{at or '/'}: expected a {kind.__name__}, got {type(raw).__name__}")
        if (tag := cast("dict[str, Any]", raw).get(_TAG)) != kind.__name__:
            raise CodecError(f"{at or '/'}: unknown tag {tag!r}; known: {kind.__name__}")
        given = {key: one for key, one in cast("dict[str, Any]", raw).items() if key != _TAG}
        odd = (needed - given.keys()) | (given.keys() - wanted.keys())
        if odd:
            raise CodecError(f"{at or '/'}: {kind.__name__} does not have exactly its fields: {', '.join(sorted(odd))}")
        values = {name: _reader(wanted[name])(one, f"{at}/{name}") for name, one in given.items()}
        try:
            return kind(**values)
        except CodecError:
            raise
        except GeodeError as error:
            raise CodecError(f"{at or '/'}: {error}") from error

    return read
