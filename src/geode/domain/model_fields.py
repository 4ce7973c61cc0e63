"""Fields of pydantic models that their own JSON form cannot carry. What a class offers is looked at; nothing is imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, cast

from geode.domain.json_value import MAX_DEPTH

# By these an annotation says how the field is written.
_WRITES: Final = frozenset({"PlainSerializer", "WrapSerializer"})


def is_root(model: Any) -> bool:
    """Whether the model is nothing but its one value."""
    return getattr(type(model), "__pydantic_root_model__", False) is True


def fields_apart(model: Any, kinds: tuple[type, ...]) -> dict[str, Any]:
    """The fields, computed and extra ones too, that hold a value of `kinds` at any depth.

    None of those that the model leaves out of its JSON form, or has a serializer of its own for.
    """
    return {name: value for name, value in _fields(model) if _holds(value, kinds, 0, {id(model)})}


def _fields(model: Any) -> Iterable[tuple[str, Any]]:
    declared: Mapping[str, Any] = getattr(type(model), "model_fields", {})
    written = _written(model)
    if written is None:
        return
    for name, field in declared.items():
        writes = any(type(one).__name__ in _WRITES for one in getattr(field, "metadata", ()))
        if not writes and name not in written and getattr(field, "exclude", None) is not True:
            yield name, getattr(model, name, None)
    for name in getattr(type(model), "model_computed_fields", {}):
        if name not in written:
            yield name, getattr(model, name)
    yield from (getattr(model, "model_extra", None) or {}).items()


def _written(model: Any) -> set[str] | None:
    """Fields that a serializer of the class writes; None where one writes all of the model."""
    found = getattr(type(model), "__pydantic_decorators__", None)
    if found is None:
        return set()
    names = {name for one in found.field_serializers.values() for name in one.info.fields}
    return None if found.model_serializers or "*" in names else names


def _holds(value: Any, kinds: tuple[type, ...], depth: int, seen: set[int]) -> bool:
    if isinstance(value, kinds):
        return True
    inside = () if depth > MAX_DEPTH or id(value) in seen else _inside(value)
    if inside != ():
        # Once each: values may hold each other.
        seen.add(id(value))
    return any(_holds(one, kinds, depth + 1, seen) for one in inside)


def _inside(value: Any) -> Iterable[Any]:
    match value:
        case Mapping():
            return value.values()
        case list() | tuple() | set() | frozenset():
            return cast("Iterable[Any]", value)
        case _ if callable(getattr(type(value), "model_dump", None)):
            return (one for _, one in _fields(value))
        case _ if is_dataclass(value) and not isinstance(value, type):
            return (getattr(value, field.name, None) for field in fields(value))
        case _:
            return ()
