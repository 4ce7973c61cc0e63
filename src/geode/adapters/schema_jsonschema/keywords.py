"""The keywords whose work can grow without bound: counted, and some of them written anew.

`jsonschema` calls a function for each keyword of each schema that it visits. Those that visit further schemas pay for
these in advance, before `jsonschema`'s own function is called; the rest cost so little that the visit covers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, TypeGuard

from jsonschema.exceptions import ValidationError

from geode.adapters.schema_jsonschema.brief import brief
from geode.adapters.schema_jsonschema.meter import METER
from geode.domain.json_value import canonical_json

# (validator, the keyword's value, the instance, the schema) → errors
Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]
# (the keyword's value, the instance) → steps
Cost: TypeAlias = Callable[[Any, Any], float]

_NAMES_SHOWN: Final = 10


def safe_keywords(own: Mapping[str, Keyword]) -> dict[str, Keyword]:
    """In place of those keywords of `own` that need it; the others of `own` stay."""
    counted = {name: _counted(keyword, _COSTS[name]) for name, keyword in own.items() if name in _COSTS}
    return {
        **counted,
        **{name: keyword for name, keyword in _ANEW.items() if name in own},
        "items": _items_of(own["items"], "prefixItems" in own),
    }


def _counted(keyword: Keyword, cost: Cost) -> Keyword:
    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[ValidationError] | None:
        METER.spend(cost(value, instance))
        return keyword(validator, value, instance, schema)

    return counted


def _is_array(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _members(value: Any) -> int:
    return len(value) if _is_array(value) or _is_object(value) else 0


def _per_schema(value: Any, _instance: Any) -> float:
    return len(value) * METER.shape.per_visit


def _per_member(value: Any, instance: Any) -> float:
    members = _members(instance)
    return members / 4 if isinstance(value, bool) else members * METER.shape.per_visit


def _unevaluated(_value: Any, instance: Any) -> float:
    """`jsonschema` looks each member up in a list, to which each schema may add all members."""
    members = _members(instance)
    return members * METER.shape.per_visit + members * members * METER.shape.schemas / 40


def _properties(value: Any, instance: Any) -> float:
    return min(len(value), len(instance)) * METER.shape.per_visit + len(value) / 8 if _is_object(instance) else 1


def _reference(value: Any, _instance: Any) -> float:
    return METER.shape.per_visit + 10 + 2 * str(value).count("/")


def _dynamic_reference(_value: Any, _instance: Any) -> float:
    return 100 + 10 * METER.shape.schemas  # it may search the whole schema for its anchor


def _comparison(value: Any, instance: Any) -> float:
    alike = METER.shape.values / 4 if _members(instance) else 0
    return alike + (len(value) / 2 if _is_array(value) else 1)


def _division(_value: Any, instance: Any) -> float:
    return 1 + instance.bit_length() / 64 if isinstance(instance, int) else 1


_COSTS: Final[Mapping[str, Cost]] = {
    **dict.fromkeys(("$dynamicRef", "$recursiveRef"), _dynamic_reference),
    **dict.fromkeys(("additionalItems", "contains", "prefixItems", "propertyNames"), _per_member),
    **dict.fromkeys(("allOf", "dependencies", "dependentSchemas"), _per_schema),
    **dict.fromkeys(("const", "enum"), _comparison),
    **dict.fromkeys(("if", "not"), lambda _value, _instance: 2 * METER.shape.per_visit),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), _unevaluated),
    "$ref": _reference,
    "dependentRequired": lambda _value, _instance: METER.shape.values / 16,
    "multipleOf": _division,
    "properties": _properties,
    "required": lambda value, _instance: len(value) / 8 if _is_array(value) else 1,
}


def _fits(validator: Any, instance: Any, schema: Any) -> bool:
    METER.spend(METER.shape.per_visit)
    return next(validator.descend(instance, schema), None) is None


def _any_of(validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """`jsonschema`'s own lists every error of every schema, which nobody reads here."""
    if not any(_fits(validator, instance, one) for one in value):
        yield ValidationError(f"{instance!r} is not valid under any of the given schemas")


def _one_of(validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    fitting = [index for index, one in enumerate(value) if _fits(validator, instance, one)]
    if not fitting:
        yield ValidationError(f"{instance!r} is not valid under any of the given schemas")
    elif len(fitting) > 1:
        places = ", ".join(map(str, fitting[:_NAMES_SHOWN]))
        yield ValidationError(f"{instance!r} is valid under more than one schema of oneOf (those at {places})")


def _items_of(own: Keyword, after_prefix: bool) -> Keyword:
    def items(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        """Paid for one by one, so that the first errors of a long array are found whatever its length."""
        if not _is_array(instance):
            return
        if not _is_object(value):
            METER.spend(_per_member(value, instance))
            yield from own(validator, value, instance, schema) or ()
            return
        for index in range(len(schema.get("prefixItems", ())) if after_prefix else 0, len(instance)):
            METER.spend(METER.shape.per_visit)
            yield from validator.descend(instance[index], value, path=index)

    return items


def _unique_items(_validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """By a text for each item: `jsonschema`'s own compares each with each."""
    if not value or not _is_array(instance):
        return
    seen: dict[str, int] = {}
    for index, item in enumerate(instance):
        text = canonical_json(item)
        METER.spend(2 + len(text) / 8)
        first = seen.setdefault(text, index)
        if first != index:
            yield ValidationError(f"{instance!r} has non-unique elements: those at {first} and {index} are equal")
            return


def _pattern(_validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not METER.matches(value, instance):
        yield ValidationError(f"{instance!r} does not match {value!r}")


def _pattern_properties(validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not _is_object(instance):
        return
    for pattern, one in value.items():
        for name, member in instance.items():
            METER.spend(2)
            if METER.matches(pattern, name):
                METER.spend(METER.shape.per_visit)
                yield from validator.descend(member, one, path=name, schema_path=pattern)


def _matches_any(patterns: Iterable[str], name: str) -> bool:
    for pattern in patterns:
        METER.spend(2)
        if METER.matches(pattern, name):
            return True
    return False


def _additional_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not _is_object(instance) or value is True:
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    others: list[str] = [name for name in instance if name not in named and not _matches_any(patterns, name)]
    METER.spend(len(others) / 4)
    if value is not False:
        for name in others:
            METER.spend(METER.shape.per_visit)
            yield from validator.descend(instance[name], value, path=name)
    elif others:
        shown = ", ".join(brief(name) for name in sorted(others)[:_NAMES_SHOWN])
        more = f" and {len(others) - _NAMES_SHOWN} more" if len(others) > _NAMES_SHOWN else ""
        what = (
            f"match none of {', '.join(map(brief, patterns))}"
            if patterns
            else f"{'was' if len(others) == 1 else 'were'} unexpected"
        )
        yield ValidationError(f"Additional properties are not allowed ({shown}{more} {what})")


FEWER_ERRORS: Final[Mapping[str, Keyword]] = {"anyOf": _any_of, "oneOf": _one_of}
_ANEW: Final[Mapping[str, Keyword]] = {
    **FEWER_ERRORS,
    "additionalProperties": _additional_properties,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "uniqueItems": _unique_items,
}
