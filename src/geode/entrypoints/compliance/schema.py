"""The contract of a schema validator: `geode.ports.SchemaValidator`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

import pytest

from geode.entrypoints.compliance.contract import Contract, made
from geode.entrypoints.compliance.hostile_schemas import HOSTILE, outcomes
from geode.entrypoints.testing import no_network
from geode.ports.schema import SchemaValidator


class SchemaHarness(ABC):
    @abstractmethod
    def validator(self) -> SchemaValidator: ...


SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
        "unit": {"enum": ["C", "F"]},
        "stops": {"type": "array", "items": {"type": "object", "properties": {"a/b": {"type": "number"}}, "required": ["a/b"]}},
        "maybe": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        "shared": {"$ref": "#/$defs/word"},
    },
    "required": ["city"],
    "additionalProperties": False,
    "$defs": {"word": {"type": "string", "pattern": "^[a-z]+$"}},
}
# (arguments, the JSON pointers of what is wrong in them: RFC 6901)
ARGUMENTS: Final[tuple[tuple[Mapping[str, Any], tuple[str, ...]], ...]] = (
    ({"city": "Rome"}, ()),
    ({"city": "Rome", "days": 3, "unit": "C", "stops": [{"a/b": 1.5}], "maybe": None, "shared": "abc"}, ()),
    ({}, ("/",)),
    ({"city": 5}, ("/city",)),
    ({"city": "R"}, ("/city",)),
    ({"city": "Rome", "days": 10}, ("/days",)),
    ({"city": "Rome", "days": True}, ("/days",)),
    ({"city": "Rome", "unit": "K"}, ("/unit",)),
    ({"city": "Rome", "stops": [{"a/b": 1}, {"a/b": "x"}]}, ("/stops/1/a~1b",)),
    ({"city": "Rome", "shared": "ABC"}, ("/shared",)),
    ({"city": "Rome", "other": 1}, ("/",)),
    ({"city": 5, "days": "x", "unit": 1}, ("/city", "/days", "/unit")),
)
BROKEN: Final[tuple[Mapping[str, Any], ...]] = (
    {"type": "object", "properties": {"a": {"type": "strng"}}},
    {"type": "object", "properties": {"a": {"pattern": "["}}},
    {"type": "object", "properties": {"a": 3}},
    {"type": "object", "required": 1},
)

# All errors of one call together, in characters: they go to a model.
LONGEST_ERRORS: Final = 20_000


class SchemaContract(Contract):
    """All errors with their places, or nothing; nothing fetched, nothing changed, nothing raised by arguments."""

    @property
    def made(self) -> SchemaHarness:
        found: SchemaHarness = made(type(self), SchemaHarness)
        return found

    @pytest.mark.parametrize(("arguments", "places"), ARGUMENTS, ids=str)
    async def test_every_error_has_its_place(self, arguments: Mapping[str, Any], places: tuple[str, ...]) -> None:
        errors = self.made.validator().compile(SCHEMA)(arguments)
        assert isinstance(errors, tuple)
        assert {error.partition(": ")[0] for error in errors} == set(places), errors
        assert all(error.partition(": ")[2].strip() for error in errors), "what is wrong is said too"

    @pytest.mark.parametrize("schema", BROKEN, ids=str)
    async def test_a_schema_that_is_none_is_a_value_error_that_says_where(self, schema: Mapping[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"^/"):
            self.made.validator().compile(schema)

    async def test_a_check_may_be_used_again_and_again(self) -> None:
        check = self.made.validator().compile(SCHEMA)
        for _ in range(2):
            for arguments, places in ARGUMENTS:
                assert bool(check(arguments)) == bool(places)

    async def test_neither_schema_nor_arguments_are_changed(self) -> None:
        schema = deepcopy(dict(SCHEMA))
        check = self.made.validator().compile(schema)
        for arguments, _ in ARGUMENTS:
            before = deepcopy(dict(arguments))
            check(arguments)
            assert arguments == before
        assert schema == SCHEMA

    async def test_no_remote_reference_is_fetched(self) -> None:
        """It is refused at once, or is an error of the arguments."""
        schema = {"type": "object", "properties": {"a": {"$ref": "https://example.com/schema.json"}}}
        with no_network():
            try:
                errors = self.made.validator().compile(schema)({"a": 1})
            except ValueError:
                return
        assert errors, "a reference that cannot be followed lets nothing pass"

    async def test_hostile_arguments_raise_nothing(self) -> None:
        check = self.made.validator().compile({"type": "object", "properties": {"a": {"multipleOf": 0.5}}})
        nested: Any = 1
        for _ in range(90):
            nested = [nested]
        hostile: tuple[Any, ...] = (10**400, nested, "x" * 100_000, {"": {}})
        for value in hostile:
            assert isinstance(check({"a": value}), tuple)

    def test_hostile_schemas_and_arguments_neither_hang_nor_pass_nor_fill_the_memory(self) -> None:
        """A schema may be refused, arguments that fit may be too; each error stays short enough to be read."""
        found = outcomes(self.made.validator)
        missing = [one.name for one in HOSTILE if one.name not in found]
        assert not missing, f"it hung or ended, first at: {missing[0]}"
        for one in HOSTILE:
            assert one.fits or found[one.name], f"let pass, or not checked in silence: {one.name}"
            assert sum(map(len, found[one.name])) <= LONGEST_ERRORS, one.name
