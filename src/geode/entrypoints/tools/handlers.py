"""The functions behind definitions: found by name, and held to what the definition says they take."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType, NoneType
from typing import Any, Final, cast

from geode.domain.errors import Misuse
from geode.domain.naming import closest
from geode.domain.schema_words import Schema, object_in, required_of, types_of
from geode.domain.tools import ToolSpec
from geode.entrypoints.tools.build import declared_tool
from geode.entrypoints.tools.calling import Handler
from geode.entrypoints.tools.declaration import declaration_of
from geode.entrypoints.tools.definitions import Defined, Definition, Definitions, Problem, read_definitions, refuse
from geode.entrypoints.tools.plain import Convert, Shape, plain
from geode.entrypoints.tools.signature import NO_DEFAULT, Parameter, Signature, read_handler
from geode.entrypoints.tools.source import Source, source_of
from geode.ports.tools import Tool, ToolError, ToolRetry

# Where these stand at the root, `properties` does not name all that there can be.
_NAMES_ELSEWHERE: Final = ("$ref", "patternProperties", "allOf", "anyOf", "oneOf")
# What each type of JSON is in Python.
_PYTHON: Final[Mapping[str, type]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": NoneType,
    "array": list,
    "object": dict,
}


def tools_from(definitions: Definitions, handlers: object) -> list[Tool]:
    """The tools that a `definitions.json` describes, or a list of such objects, for `tools=[…]`.

    `handlers` has the function of each by the tool's name: a mapping, a module, or an object whose methods they are.
    They are called as decorated functions are: with the arguments by name, converted to the types of the parameters
    where those have some, and with the ToolContext where a parameter is one. What `@tool` says of a function holds
    where its definition says nothing of it.

    Misuse for what is wrong with the file or a definition, for a definition without a function and one whose function
    cannot take what the schema names, and for a function of a mapping that no definition names.
    """
    bound = bind(read_definitions(definitions), handlers)
    if bound.problems:
        refuse(bound.problems)
    return list(bound.tools)


@dataclass(frozen=True, slots=True)
class Bound:
    """The tools that can be used, in their order, and everything that is wrong with the others."""

    tools: tuple[Tool, ...]
    problems: tuple[Problem, ...]


def bind(defined: Defined, handlers: object) -> Bound:
    """Every definition with its function. Misuse where `handlers` are none."""
    named, where, closed = _named(handlers)
    tools: list[Tool] = []
    problems = list(defined.problems)
    for definition in defined.definitions:
        made = _bound(definition, named, where)
        if isinstance(made, Tool):
            tools.append(made)
        else:
            problems += made
    # Behind what is broken there may be the definition that a function belongs to.
    if closed and not defined.problems:
        problems += _unused(named, [definition.spec.name for definition in defined.definitions], defined.origin)
    return Bound(tuple(tools), tuple(problems))


def _named(handlers: object) -> tuple[Mapping[str, object], str, bool]:
    """The functions by name, where they are, and whether each of them must be some definition's."""
    if isinstance(handlers, Mapping):
        return cast("Mapping[str, object]", handlers), "handlers=", True
    if handlers is None or isinstance(handlers, str | type | list | tuple) or inspect.isroutine(handlers):
        form = "a mapping {name: function}, a module, or an object with methods"
        raise Misuse("definition-handlers", f"handlers= takes {form}, got {_shown(handlers)}")
    where = f'module "{handlers.__name__}"' if isinstance(handlers, ModuleType) else f"the {type(handlers).__name__}"
    found = dict(_members(handlers))
    declared = {declaration_of(value).name: value for value in found.values()}
    return {**{name: value for name, value in declared.items() if name}, **found}, where, False


def _members(holder: object) -> Iterator[tuple[str, object]]:
    for name in dir(holder):
        # Nothing that is worked out when it is looked at.
        if not name.startswith("__") and not isinstance(inspect.getattr_static(holder, name, None), property):
            value = getattr(holder, name, None)
            if callable(value) and not isinstance(value, type):
                yield name, value


def _shown(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _unused(named: Mapping[str, object], defined: list[str], origin: str) -> Iterator[Problem]:
    for name in named:
        if name not in defined:
            close = closest(str(name), defined)
            hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(defined) or 'none'}"
            yield Problem("definition-handlers", f'handlers= has "{name:.64}", which {origin} does not define; {hint}')


# ---- one definition ----------------------------------------------------------------------------


def _bound(definition: Definition, named: Mapping[str, object], where: str) -> Tool | list[Problem]:
    name = definition.spec.name
    if name not in named:
        close = closest(name, map(str, named))
        hint = f"; did you mean {close[0]}?" if close else ""
        text = f'tool "{name}" has no handler: {where} has no "{name}"{hint}'
        return [Problem("definition-handlers", f"{definition.place}: {text}")]
    value = named[name]
    try:
        source = source_of(value, name)
        signature = read_handler(source)
        shapes = _shapes(source, signature)
    except Misuse as error:
        return [Problem(error.id, f"{definition.place}: {str(error).removesuffix(f' [{error.id}]')}")]
    about = f'{definition.place}: tool "{name}": its handler {_told(source)}'
    if wrong := list(_unfit(definition.spec.input_schema, signature, shapes)):
        return [Problem("definition-handlers", f"{about} {text}") for text in wrong]
    return _tool(definition, value, _handler(source, signature, shapes))


def _told(source: Source) -> str:
    written = getattr(source.written, "__name__", source.name)
    return f"{written} ({source.place})" if source.place else written


def _tool(definition: Definition, value: object, handler: Handler) -> Tool:
    """What the definition says, and what was declared on the function where it says nothing."""
    said: Any = {name: setting for name, setting in definition.settings.items() if name != "strict"}
    spec = definition.spec
    if "strict" not in definition.settings and declaration_of(value).strict:
        spec = ToolSpec(spec.name, spec.description, spec.input_schema, strict=True)
    return replace(declared_tool(spec, value, handler), place=definition.place, **said)


def _handler(source: Source, signature: Signature, shapes: Mapping[str, Shape]) -> Handler:
    ways = [(name, _guarded(name, shape.convert)) for name, shape in shapes.items() if shape.convert]
    only = None if signature.any_name else frozenset(parameter.name for parameter in signature.parameters)
    return Handler(source, ways, signature.context, signature.positional, only=only)


def _shapes(source: Source, signature: Signature) -> Mapping[str, Shape]:
    """The shapes of the parameters that have types. A type that needs pydantic is read by it, as of any tool."""
    shapes = {parameter.name: plain(parameter.annotation) for parameter in signature.parameters}
    others = {parameter.name: parameter.annotation for parameter in signature.parameters if shapes[parameter.name] is None}
    known = {name: shape for name, shape in shapes.items() if shape is not None}
    if not others:
        return known
    from geode.entrypoints.tools.described import describe

    return {**known, **describe(source, others)[0]}


def _guarded(name: str, convert: Convert) -> Convert:
    """The schema was not made from the type: what fits the one need not fit the other."""

    def guarded(value: Any) -> Any:
        try:
            return convert(value)
        except ToolError:
            raise
        except (LookupError, ValueError, TypeError):
            raise ToolRetry(f'the argument "{name}" has a value that this tool does not take') from None

    return guarded


# ---- whether it fits ---------------------------------------------------------------------------


def _unfit(schema: Schema, signature: Signature, shapes: Mapping[str, Shape]) -> Iterator[str]:
    """What keeps the function from being called with arguments that fit the schema."""
    properties, required = object_in(schema.get("properties")), required_of(schema)
    parameters = {parameter.name: parameter for parameter in signature.parameters}
    context = signature.context.name if signature.context else ""
    for name in properties:
        if name == context:
            yield f'takes its ToolContext as "{name}", which is a property of the input_schema. Rename one of them'
        elif name not in parameters and not signature.any_name:
            yield f'has no parameter "{name:.64}"; {_takes(name, parameters)}'
    whole = not any(word in schema for word in _NAMES_ELSEWHERE)
    for name, parameter in parameters.items():
        if parameter.default is NO_DEFAULT and name not in required and (whole or name in properties):
            yield _never_given(parameter, given=name in properties)
        if name in properties:
            yield from _other_type(name, object_in(properties[name]), shapes[name])


def _takes(name: str, parameters: Mapping[str, Parameter]) -> str:
    if not name.isidentifier():
        return "no parameter can have that name: take it by **others"
    close = closest(name, parameters)
    return f"did you mean {close[0]}?" if close else f"it takes: {', '.join(parameters) or 'nothing'}"


def _never_given(parameter: Parameter, *, given: bool) -> str:
    name = parameter.name
    if given:
        return f'has a parameter "{name}" without a default, and the input_schema does not require it. Give it a default'
    return f'has a parameter "{name}" without a default, and the input_schema has no such property'


def _written(shape: Shape) -> frozenset[type]:
    """The types that the function was written with: either number is taken for the other as well."""
    match types_of(shape.schema):
        case ("integer",):
            return frozenset({int})
        case ("number",):
            return frozenset({float})
        case _:
            return shape.takes


def _other_type(name: str, schema: Schema, shape: Shape) -> Iterator[str]:
    """Types that have nothing in common. Those that pydantic reads are not looked at: they may take more than one form."""
    said = [_PYTHON[kind] for kind in types_of(schema) if kind in _PYTHON]
    if said and shape.takes and shape.takes.isdisjoint(said):
        kinds = " or ".join(types_of(schema))
        takes = " or ".join(sorted(kind.__name__ for kind in _written(shape)))
        yield f'has a parameter "{name}" of another type: the input_schema says {kinds}, it takes {takes}'
