"""What the two OpenAI wires refuse alike: names, function schemas, item counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geode.entrypoints.emulator import schema as js
from geode.entrypoints.emulator.models import Model
from geode.entrypoints.emulator.rule import Facts, Finding, Path, Request, fits, ident, mapped, number, param, pointer, shown
from geode.entrypoints.emulator.sizes import tokens

NAME_PATTERN: Final = r"[A-Za-z0-9_-]+"
NAME_LIMIT: Final = 64
TOOLS_LIMIT: Final = 128
ARRAY_RULE: Final = {"chat.openai": "array_items", "responses.openai": "array_missing_items"}
BOUNDS: Final = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
}
# A number in quotes, which some servers read as one.
WRITTEN: Final = r"-?\d+(\.\d+)?"
ROOT_WORDS: Final = ("oneOf", "anyOf", "allOf", "enum", "not")


def label(path: Path) -> str:
    """A place as OpenAI names it in its messages."""
    return param(pointer(path)) or "request"


def names(rule: str, path: Path, name: Any) -> Iterator[Finding]:
    """A function's name: there, of a pattern and a length. `rule` is the wire's part of the rule id."""
    if not isinstance(name, str) or not name:
        yield f"{rule}.name_missing", path, f"invalid {label(path)}: empty string; expected minimum length 1"
    elif len(name) > NAME_LIMIT:
        yield f"{rule}.name_length", path, f"invalid {label(path)}: string too long; maximum length {NAME_LIMIT}"
    elif not fits(NAME_PATTERN, name):
        yield f"{rule}.name_pattern", path, f"invalid {label(path)}: string does not match pattern ^[a-zA-Z0-9_-]+$"


def numbers(wire: str, request: Request) -> Iterator[Finding]:
    """Sampling: numbers, and within bounds."""
    for key, (least, most) in BOUNDS.items():
        found = request.get(key)
        value = number(found)
        if found is not None and value is None and not fits(WRITTEN, found):
            yield f"{wire}.sampling.type", (key,), f"invalid type for {key}: expected a decimal"
        elif value is not None and value < least:
            text = f"invalid {key}: decimal below minimum value; expected a value >= {least}"
            yield f"{wire}.sampling.below", (key,), text
        elif value is not None and value > most:
            text = f"invalid {key}: decimal above maximum value; expected a value <= {most}"
            yield f"{wire}.sampling.above", (key,), text


def sampled(model: Model, effort: Any) -> bool:
    """Does the model sample as it is told at this effort, None being an effort that was not said?"""
    if effort == "none":
        return True
    return "sampling" not in model.refuses and (effort is None or "sampling with effort only" not in model.refuses)


def efforts(rule: str, path: Path, effort: Any, model: Model) -> Iterator[Finding]:
    """The words for effort that the model knows."""
    if effort is None or model.efforts is None or effort in model.efforts:
        return
    if model.efforts:
        text = f"unsupported value: {shown(effort)!r} is not supported with this model; supported: {', '.join(model.efforts)}"
        yield f"{rule}.value", path, text
    else:
        yield f"{rule}.unsupported", path, f"unsupported parameter: {label(path)} is not supported with this model"


def too_long(request: Request, model: Model) -> int | None:
    """About how many tokens a request is that cannot fit into the model's window."""
    count = tokens(request)
    return count if model.window is not None and count > model.window else None


def served(name: Any, facts: Facts) -> bool:
    """Is there such a model here?"""
    return facts.models is None or ident(name) in facts.models


def parameters(wire: str, path: Path, name: Any, schema: Any, strict: bool) -> Iterator[Finding]:
    """The schema of one function."""
    if schema is None:
        return  # no parameters at all is a function without arguments
    about = f"invalid schema for function {shown(name)}"
    root = mapped(schema)
    if root.get("type") != "object" and "$ref" not in root:
        text = f"{about}: schema must be a JSON Schema of type object, got type {shown(root.get('type'))}"
        yield f"{wire}.schema.root_not_object", path, text
    for word in ROOT_WORDS:
        if word in root:
            text = f"{about}: schema must have type object and not have oneOf/anyOf/allOf/enum/not at the top level"
            yield f"{wire}.schema.root_combinator", (*path, word), text
    if root.get("type") == "object" and "properties" not in root and "$ref" not in root:
        yield f"{wire}.schema.missing_properties", path, f"{about}: in context=(), object schema missing properties"
    for place in js.arrays_without_items(schema):
        yield f"{wire}.schema.{ARRAY_RULE[wire]}", (*path, *place), f"{about}: in context={place}, array schema missing items"
    if strict:
        yield from strict_schema(f"{wire}.strict", path, about, schema)


def strict_schema(rule: str, path: Path, about: str, schema: Any) -> Iterator[Finding]:
    """What strict mode asks of every object of a schema. `default` is not judged: servers were seen to take it."""
    for place in js.open_objects(schema):
        text = f"{about}: in context={place}, additionalProperties is required to be supplied and to be false"
        yield f"{rule}.additional_properties", (*path, *place), text
    for place, name in js.not_required(schema):
        text = f"{about}: in context={place}, required must be an array including every key in properties; missing {name}"
        yield f"{rule}.required_all", (*path, *place), text
    for place, word in js.having(schema, ("oneOf", "allOf", "not", "if")):
        yield f"{rule}.oneof", (*path, *place, word), f"{about}: in context={place}, {word} is not permitted"
    levels = js.depth(schema)
    if levels > js.NESTING_LIMIT:
        yield f"{rule}.nesting", path, f"{about}: {levels} levels of nesting exceeds limit of {js.NESTING_LIMIT}"
