"""The work of one check: counted, and given up where it is too much."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import local
from time import thread_time
from typing import Final, cast

from geode.adapters.patterns import compile_pattern
from geode.adapters.schema_jsonschema.brief import brief
from geode.ports.patterns import Pattern, PatternTimeout

MAX_ERRORS: Final = 10
# To check a schema of this size takes about a second; a tool's schema of 50,000 characters is a big one.
MAX_SCHEMA_CHARS: Final = 262_144
MAX_SCHEMA_OBJECTS: Final = 10_000
# A step is about a microsecond: to visit one value with one schema takes about five.
MAX_STEPS: Final = 250_000
# For all patterns of one check, in seconds of the processor.
PATTERN_SECONDS: Final = 0.1

# Keywords whose value holds schemas, or lists, by name.
_MAPS: Final = frozenset(("$defs", "definitions", "dependentRequired", "dependentSchemas", "patternProperties", "properties"))


class Unchecked(Exception):
    """The check was given up: nobody knows whether the arguments fit. `value` is the text at fault, if it is one."""

    def __init__(self, why: str, value: str | None = None) -> None:
        super().__init__(why)
        self.why, self.value = why, value


@dataclass(frozen=True, slots=True)
class Shape:
    """How much there is of a schema, and its patterns, which are compiled once.

    `schemas` counts its objects, `values` all values in it; `per_visit` are the steps to look at one value with one
    of its schemas: more where an object of it has very many keys.
    """

    schemas: int = 0
    values: int = 0
    per_visit: int = 5
    patterns: dict[str, Pattern] = field(default_factory=dict[str, Pattern], compare=False)

    @staticmethod
    def of(schema: object) -> Shape:
        schemas = values = widest = widest_map = 0
        maps_are_visited = False
        # What stands under one of _MAPS, where that is a keyword, holds schemas and is none.
        waiting: list[tuple[object, bool]] = [(schema, False)]
        while waiting:
            one, is_map = waiting.pop()
            values += 1
            if isinstance(one, dict):
                members = cast("dict[str, object]", one)
                schemas += 1
                waiting.extend((member, name in _MAPS and not is_map) for name, member in members.items())
                maps_are_visited = maps_are_visited or _may_refer_to_a_map(members.get("$ref"))
                if is_map:
                    widest_map = max(widest_map, len(members))
                else:
                    widest = max(widest, len(members))
            elif isinstance(one, list):
                waiting.extend((member, False) for member in cast("list[object]", one))
        return Shape(schemas, values, 5 + max(widest, widest_map if maps_are_visited else 0) // 10)


def _may_refer_to_a_map(reference: object) -> bool:
    if not isinstance(reference, str):
        return False
    return "%" in reference or "~" in reference or reference.rpartition("/")[2] in _MAPS


class Meter(local):
    """What one check may still do; keywords find it here, for a validator carries nothing of one check."""

    def __init__(self) -> None:
        self.begin(Shape())

    def begin(self, shape: Shape, *, steps: float = MAX_STEPS, seconds: float = PATTERN_SECONDS) -> None:
        self.shape, self.left, self.seconds = shape, steps, seconds

    def spend(self, steps: float) -> None:
        self.left -= steps
        if self.left < 0:
            raise Unchecked(f"the arguments could not be checked in {MAX_STEPS} steps; send smaller ones")

    def matches(self, pattern: str, text: str) -> bool:
        """Whether the pattern is found in the text. Unchecked where that could not be told."""
        compiled = self.shape.patterns.get(pattern)
        if compiled is None:
            try:
                compiled = self.compiled(pattern)
            except ValueError as error:
                raise Unchecked(str(error)) from None
        quick = compiled.is_quick(text)
        began = 0.0 if quick else thread_time()
        try:
            return compiled.search(text, seconds=self.seconds)
        except PatternTimeout as error:
            raise Unchecked(
                f"the pattern {brief(pattern)} could not be checked in {PATTERN_SECONDS} s: {error}", text
            ) from None
        finally:
            if not quick:
                self.seconds -= thread_time() - began

    def compiled(self, pattern: str) -> Pattern:
        """The pattern, ready for this schema's checks; ValueError for one that is none."""
        try:
            made = self.shape.patterns[pattern] = compile_pattern(pattern)
        except ValueError as error:
            raise ValueError(f"{brief(pattern)} is no pattern: {error}") from None
        return made


METER: Final = Meter()
