"""From what `tools=[…]` holds to tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from geode.domain.errors import Misuse
from geode.domain.json_value import clean_json
from geode.domain.tools import ToolSpec
from geode.entrypoints.tools.declaration import declaration_of
from geode.entrypoints.tools.docstring import read_docstring
from geode.entrypoints.tools.plain import Convert, Shape, object_schema, plain
from geode.entrypoints.tools.signature import NO_DEFAULT, Injected, Parameter, Signature, read_signature, unresolved
from geode.entrypoints.tools.source import Source, source_of
from geode.entrypoints.tools.stand_ins import check_stand_ins
from geode.ports.schema import SchemaValidator
from geode.ports.tools import Invoke, Tool, ToolContext


def build_tools(values: Iterable[object], deps: object = None, validator: SchemaValidator | None = None) -> tuple[Tool, ...]:
    """The tools that `values` are, in order. Misuse for what `as_tool` refuses, for two tools of one name, and
    for a tool whose `alternative` or `fallback` cannot stand in for it.

    With a `validator`, also for a schema that is none, where somebody wrote one: those that are made of the
    plain types of a function are right by construction, and need not be compiled before they are used.
    """
    if callable(values) or isinstance(values, str | bytes | Tool) or not isinstance(values, Iterable):
        raise Misuse("not-a-list", f"tools= must be a list, got {type(values).__name__}. Write tools=[…]")
    tools = tuple(as_tool(value, deps) for value in values)
    named: dict[str, Tool] = {}
    for tool in tools:
        name = tool.spec.name
        if name in named:
            first, second = (one.place or "a Tool made without a place" for one in (named[name], tool))
            raise Misuse("tool-twice", f'two tools are called "{name}": {first} and {second}. Rename one: @tool(name=…)')
        named[name] = tool
        if validator is not None and not (isinstance(tool.invoke, _Handler) and tool.invoke.by_table):
            _refuse_broken(tool.spec, validator)
    for tool in tools:
        check_stand_ins(tool, named)
    return tools


def _refuse_broken(spec: ToolSpec, validator: SchemaValidator) -> None:
    try:
        validator.compile(spec.input_schema)
    except ValueError as error:
        raise Misuse("tool-schema", f"tool {spec.name}: input_schema is no JSON Schema that can be checked; {error}") from None


def as_tool(value: object, deps: object = None) -> Tool:
    """The tool that `value` is: a function, a bound method, a callable object, or a Tool, which stays as it is.

    What `@tool` did not declare is DANGEROUS. Misuse for anything else, for a parameter that no model
    could fill in, and if the tool's `ToolContext[D]` wants other dependencies than `deps`.
    """
    if isinstance(value, Tool):
        return value
    declared = declaration_of(value)
    source = source_of(value, declared.name)
    signature = read_signature(source)
    if signature.context is not None and not _fits(deps, signature.context.wanted):
        _refuse_deps(source, signature.context, deps)
    description, texts = read_docstring(source.docstring)
    shapes, definitions = _shapes(source, signature)
    schema = _schema(signature, shapes, definitions, texts)
    said = description if declared.description is None else declared.description
    return Tool(
        ToolSpec(source.name, said, schema, declared.strict),
        declared.tier,
        _handler(source, signature, shapes),
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


@dataclass(frozen=True, slots=True)
class _Handler:
    """Arguments that fit the schema become those of the function, by a plan that is made once.

    `by_table`: the schema is made of plain types alone.
    """

    call: Callable[..., Any]
    ways: Sequence[tuple[str, Convert]]
    injected: str | None
    positional: Sequence[tuple[str, Any]]
    by_table: bool

    def __call__(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> Any:
        filled = dict(arguments)
        for name, convert in self.ways:
            if name in filled:
                filled[name] = convert(filled[name])
        if self.injected is not None:
            filled[self.injected] = context
        if not self.positional:
            return self.call(**filled)
        return self.call(*[filled.pop(name, default) for name, default in self.positional], **filled)


def _handler(source: Source, signature: Signature, shapes: Mapping[str, Shape]) -> _Handler:
    ways = [(name, shape.convert) for name, shape in shapes.items() if shape.convert]
    injected = signature.context.name if signature.context else None
    # What pydantic described has no `takes`.
    by_table = all(shape.takes for shape in shapes.values())
    return _Handler(source.call, ways, injected, signature.positional, by_table)


def _fits(deps: object, wanted: Any) -> bool:
    """Whether `deps` may be a `wanted`. What cannot be checked at run time is believed."""
    origin = get_origin(wanted)
    if origin is Annotated:
        return _fits(deps, get_args(wanted)[0])
    if origin in (Union, UnionType):
        return any(_fits(deps, member) for member in get_args(wanted))
    if wanted is Any:
        return True
    try:
        return isinstance(deps, origin or wanted)
    except TypeError:
        # A type variable, a NewType, or a protocol that is not runtime-checkable.
        return True


def _refuse_deps(source: Source, context: Injected, deps: object) -> None:
    wanted = context.wanted
    name = str(wanted) if get_origin(wanted) or not isinstance(wanted, type) else wanted.__name__
    got = "there are none" if deps is None else f"got {type(deps).__name__}"
    source.refuse("deps-type", f"{context.name} wants deps of type {name}, {got}. Give deps= a {name}")
