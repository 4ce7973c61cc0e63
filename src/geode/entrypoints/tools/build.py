"""From what `tools=[…]` holds to tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from geode.domain.errors import Misuse
from geode.domain.json_value import clean_json
from geode.domain.tools import ToolSpec
from geode.entrypoints.tools.calling import Handler, handler_of
from geode.entrypoints.tools.declaration import declaration_of
from geode.entrypoints.tools.docstring import read_docstring
from geode.entrypoints.tools.plain import Shape, object_schema, plain
from geode.entrypoints.tools.signature import NO_DEFAULT, Parameter, Signature, read_signature, unresolved
from geode.entrypoints.tools.source import Source, source_of
from geode.entrypoints.tools.stand_ins import check_stand_ins
from geode.ports.schema import SchemaValidator
from geode.ports.tools import Invoke, Tool


def build_tools(values: Iterable[object], deps: object = None, validator: SchemaValidator | None = None) -> tuple[Tool, ...]:
    """The tools that `values` are, in order. Misuse for what `as_tool` refuses, for two tools of one name, and
    for a tool whose `alternative` or `fallback` cannot stand in for it.

    With a `validator`, also for a schema that is none, where somebody wrote one: those that are made of the
    plain types of a function are right by construction, and need not be compiled before they are used.
    """
    if callable(values) or isinstance(values, str | bytes | Tool) or not isinstance(values, Iterable):
        raise Misuse("not-a-list", f"tools= must be a list, got {type(values).__name__}. Write tools=[…]")
    tools = tuple(as_tool(value, deps) for value in values)
    for wrong in wrong_together(tools, validator):
        raise wrong
    return tools


def wrong_together(tools: Iterable[Tool], validator: SchemaValidator | None = None) -> Iterator[Misuse]:
    """Everything for which `build_tools` refuses tools that are none the worse by themselves."""
    named: dict[str, Tool] = {}
    for tool in tools:
        name = tool.spec.name
        if name in named:
            first, second = (one.place or "a Tool made without a place" for one in (named[name], tool))
            yield Misuse("tool-twice", f'two tools are called "{name}": {first} and {second}. Rename one: @tool(name=…)')
            continue
        named[name] = tool
        if validator is not None and not (isinstance(tool.invoke, Handler) and tool.invoke.by_table):
            yield from _broken_schema(tool, validator)
    for tool in named.values():
        try:
            check_stand_ins(tool, named)
        except Misuse as error:
            yield error


def _broken_schema(tool: Tool, validator: SchemaValidator) -> Iterator[Misuse]:
    try:
        validator.compile(tool.spec.input_schema)
    except ValueError as error:
        where = f" ({tool.place})" if tool.place else ""
        said = f"tool {tool.spec.name}{where}: input_schema is no JSON Schema that can be checked; {error}"
        yield Misuse("tool-schema", said)


def as_tool(value: object, deps: object = None) -> Tool:
    """The tool that `value` is: a function, a bound method, a callable object, or a Tool, which stays as it is.

    What `@tool` did not declare is DANGEROUS. Misuse for anything else, for a parameter that no model
    could fill in, and if the tool's `ToolContext[D]` wants other dependencies than `deps`.
    """
    if isinstance(value, Tool):
        if isinstance(value.invoke, Handler):
            value.invoke.check_deps(deps)
        return value
    declared = declaration_of(value)
    source = source_of(value, declared.name)
    signature = read_signature(source)
    description, texts = read_docstring(source.docstring)
    shapes, definitions = _shapes(source, signature)
    schema = _schema(signature, shapes, definitions, texts)
    # What pydantic described has no `takes`.
    by_table = all(shape.takes for shape in shapes.values())
    handler = handler_of(source, signature, {name: shape.convert for name, shape in shapes.items()}, by_table=by_table)
    handler.check_deps(deps)
    said = description if declared.description is None else declared.description
    return declared_tool(ToolSpec(source.name, said, schema, declared.strict), value, handler)


def declared_tool(spec: ToolSpec, value: object, handler: Handler) -> Tool:
    """The tool of that function, as it was declared on `value`."""
    declared, source = declaration_of(value), handler.source
    return Tool(
        spec,
        declared.tier,
        handler,
        not source.is_async if declared.blocking is None else declared.blocking,
        declared.timeout_seconds,
        source.place,
        declared.alternative,
        declared.fallback,
        declared.max_calls,
        declared.poller,
        declared.idempotent,
        _of_same_object(value, declared.reconcile),
        declared.deferred,
    )


def _of_same_object(value: object, reconcile: Callable[..., Any] | None) -> Invoke | None:
    """`reconcile`, bound to the object whose method the tool is where it is a method of its class."""
    owner = getattr(value, "__self__", value)
    name = getattr(reconcile, "__name__", "")
    own = name and inspect.getattr_static(type(owner), name, None) is reconcile
    return getattr(owner, name) if own else reconcile


def _shapes(source: Source, signature: Signature) -> tuple[dict[str, Shape], Mapping[str, Any]]:
    """The shape of each parameter, and the definitions that their schemas share."""
    shapes: dict[str, Shape] = {}
    others: dict[str, Any] = {}
    for parameter in signature.parameters:
        try:
            shape = plain(parameter.annotation)
        except NameError as error:
            unresolved(source, f'parameter "{parameter.name}"', error)
        if shape is None:
            others[parameter.name] = parameter.annotation
        else:
            shapes[parameter.name] = shape
    if not others:
        return shapes, {}
    from geode.entrypoints.tools.described import describe

    described, definitions = describe(source, others)
    return {**shapes, **described}, definitions


def _schema(
    signature: Signature, shapes: Mapping[str, Shape], definitions: Mapping[str, Any], texts: Mapping[str, str]
) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for parameter in signature.parameters:
        text = parameter.description or texts.get(parameter.name)
        said = {"description": text} if text else {}
        properties[parameter.name] = {**shapes[parameter.name].schema, **said, **_default(parameter)}
    required = [parameter.name for parameter in signature.parameters if parameter.default is NO_DEFAULT]
    schema = object_schema(properties, required)
    return {**schema, "$defs": definitions} if definitions else schema


def _default(parameter: Parameter) -> dict[str, Any]:
    """The default as a keyword of the schema, if it is a JSON value."""
    default = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
    try:
        return {} if default is NO_DEFAULT else {"default": clean_json(default)}
    except (ValueError, RecursionError):
        return {}
