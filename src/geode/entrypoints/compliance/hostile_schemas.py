"""Schemas and arguments that nobody means well with, and what keeps a validator that hangs on them from hanging the tests."""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

from geode.ports.schema import SchemaValidator

# Far more than any of them may take: it tells a validator that hangs, not one that is slow.
HANGS_SECONDS: Final = 20.0


@dataclass(frozen=True)
class Hostile:
    """`fits` says whether the arguments fit the schema: what does not fit must never pass, what fits may be refused."""

    name: str
    schema: Mapping[str, Any]
    arguments: Mapping[str, Any]
    fits: bool = False


def _of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _doubling(word: str, last: Mapping[str, Any]) -> dict[str, Any]:
    """Each definition asks the next one twice: 2 ^ 40 ways from the first to the last."""
    links = {f"d{at}": {word: [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(40)}
    return {**_of(a={"$ref": "#/$defs/d0"}), "$defs": {**links, "d40": last}}


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"next": value}
    return value


_EXPLODES: Final = "^(a|aa)+$"
_LONG: Final = "a" * 5_000 + "!"
_EITHER: Final = [
    {"properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["left"]},
    {"properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["right"]},
]

HOSTILE: Final = (
    Hostile("a pattern that explodes", _of(a={"pattern": _EXPLODES}), {"a": _LONG}),
    Hostile("the same, under not", _of(a={"not": {"not": {"pattern": _EXPLODES}}}), {"a": _LONG}),
    Hostile("the same, for names", {"type": "object", "propertyNames": {"pattern": _EXPLODES}}, {_LONG: 1}),
    Hostile(
        "the same, for names that have schemas",
        {"type": "object", "patternProperties": {_EXPLODES: {}}, "additionalProperties": False},
        {_LONG: 1},
    ),
    Hostile("the same, in a thousand texts", _of(a={"items": {"pattern": _EXPLODES}}), {"a": ["a" * 40 + "!"] * 1_000}),
    Hostile("a pattern that repeats a billion times", _of(a={"pattern": "^a{1000000000}$"}), {"a": "b"}),
    Hostile("a pattern of thousands of letters", _of(a={"pattern": f"^{'a' * 8_000}$"}), {"a": "a" * 8_000 + "!"}),
    Hostile("a pattern of many levels", _of(a={"pattern": "(" * 25 + "a" + "+)" * 25}), {"a": "b"}),
    Hostile("references that double, any", _doubling("anyOf", {"type": "integer"}), {"a": "x"}),
    Hostile("references that double, all", _doubling("allOf", {"type": "integer"}), {"a": 1}, fits=True),
    Hostile("references that double, one", _doubling("oneOf", {"type": "integer"}), {"a": 1}),
    Hostile("a reference to itself", {"type": "object", "$ref": "#"}, {"a": 1}, fits=True),
    Hostile(
        "two ways at each level of deep data",
        {**_of(a={"$ref": "#/$defs/node"}), "$defs": {"node": {"anyOf": _EITHER}}},
        {"a": _nested(90)},
    ),
    Hostile("unique objects", _of(a={"uniqueItems": True}), {"a": [{"x": at} for at in range(20_000)] + [{"x": 0}]}),
    Hostile("a long list", _of(a={"items": {"type": "integer"}}), {"a": [*range(1_000_000), "x"]}),
    Hostile("many errors", _of(a={"items": {"type": "string"}}), {"a": list(range(200_000))}),
    Hostile("a huge text", _of(a={"type": "integer"}), {"a": "x" * 10_000_000}),
    Hostile("a huge value in many errors", _of(a={"allOf": [{"type": "integer"}] * 1_000}), {"a": ["x" * 9_999] * 1_000}),
    Hostile("huge names", {"type": "object", "additionalProperties": False}, {f"{at}" + "n" * 9_999: at for at in range(999)}),
    Hostile("a huge number", _of(a={"multipleOf": 0.5}), {"a": 2 * 10**400 + 1}, fits=True),
    Hostile(
        "unevaluated names",
        {"type": "object", "allOf": [{"properties": {"a": {}}}] * 100, "unevaluatedProperties": False},
        {f"k{at}": 1 for at in range(20_000)},
    ),
    Hostile("a huge enum", _of(a={"items": {"enum": ["y" * 10] * 15_000}}), {"a": ["x"] * 10_000}),
    Hostile("a schema of a megabyte", _of(a={"type": "integer", "enum": [*range(150_000)]}), {"a": "x"}),
    Hostile("a schema of many schemas", {"type": "object", "allOf": [{}] * 200_000 + [{"required": ["b"]}]}, {"a": 1}),
)


def outcomes(make: Callable[[], SchemaValidator]) -> dict[str, tuple[str, ...] | str]:
    """For each of `HOSTILE` by name: the errors, or the text of the ValueError, in another process. What hangs is missing."""
    # A fork needs no harness that can be imported by name, as those in a file of tests often cannot.
    forks = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(make, theirs), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads: they wait for nothing of ours
        process.start()
    theirs.close()
    found: dict[str, tuple[str, ...] | str] = {}
    try:
        while len(found) < len(HOSTILE) and ours.poll(HANGS_SECONDS):
            name, outcome = ours.recv()
            found[name] = outcome
    except EOFError:
        pass  # it ended before its time
    finally:
        process.kill()
        process.join()
    return found


def _tell(make: Callable[[], SchemaValidator], to: Connection) -> None:
    validator = make()
    for one in HOSTILE:
        try:
            outcome: tuple[str, ...] | str = validator.compile(one.schema)(one.arguments)
        except ValueError as error:
            outcome = str(error)
        to.send((one.name, outcome))
