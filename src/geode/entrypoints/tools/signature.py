"""The parameters of a tool: their resolved types and what is said of them."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Final, NoReturn, Union, get_args, get_origin

from geode.entrypoints.tools.source import Source
from geode.ports.tools import ToolContext

NO_DEFAULT: Final = inspect.Parameter.empty
_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter that the model fills in. `description` is what the annotation itself says of it."""

    name: str
    annotation: Any
    default: Any
    description: str = ""


@dataclass(frozen=True, slots=True)
class Injected:
    """The parameter that gets the ToolContext; `wanted` is the type of the dependencies, Any if it is not said."""

    name: str
    wanted: Any


@dataclass(frozen=True, slots=True)
class Signature:
    """`positional`: the parameters that cannot be given by name, with their defaults. `any_name`: it takes others by name."""

    parameters: tuple[Parameter, ...]
    context: Injected | None
    positional: tuple[tuple[str, Any], ...]
    any_name: bool = False


def read_signature(source: Source) -> Signature:
    """The parameters of `source`. Misuse for what no model can fill in: without a type, or without a name."""
    given = _parameters(source)
    for parameter in given:
        _refuse_variadic(source, parameter)
        _refuse_unbound(source, parameter)
        if parameter.annotation is inspect.Parameter.empty:
            text = f'parameter "{parameter.name}" has no annotation. Write {parameter.name}: str'
            source.refuse("no-annotation", text)
    return _signature(source, given)


def read_handler(source: Source) -> Signature:
    """The parameters of a function whose schema is written elsewhere: they need no types, and `**names` takes any name."""
    given = _parameters(source)
    for parameter in given:
        _refuse_unbound(source, parameter)
    kinds = {parameter.kind for parameter in given}
    fixed = [parameter for parameter in given if parameter.kind not in _VARIADIC]
    return replace(_signature(source, fixed), any_name=inspect.Parameter.VAR_KEYWORD in kinds)


def _signature(source: Source, given: Sequence[inspect.Parameter]) -> Signature:
    context: Injected | None = None
    parameters: list[Parameter] = []
    for parameter in given:
        annotation = Any if parameter.annotation is inspect.Parameter.empty else _resolved(source, parameter)
        wanted = _wanted_deps(annotation)
        if wanted is None:
            parameters.append(_parameter(source, parameter, annotation))
        elif context is None:
            context = Injected(parameter.name, wanted[0])
        else:
            text = f'"{context.name}" and "{parameter.name}" are both a ToolContext. Keep one'
            source.refuse("context-twice", text)
    positional = tuple((one.name, one.default) for one in given if one.kind is inspect.Parameter.POSITIONAL_ONLY)
    return Signature(tuple(parameters), context, positional)


def unresolved(source: Source, where: str, error: Exception) -> NoReturn:
    """Misuse for an annotation that cannot be evaluated where the function was written."""
    missing = error.name if isinstance(error, NameError) else None
    what = f"names {missing}, which is unknown there" if missing else f"cannot be read ({type(error).__name__}: {error})"
    way_out = "Define or import it at module level, not in a function or under TYPE_CHECKING"
    source.refuse("unknown-annotation", f"{where}: its annotation {what}. {way_out}")


def _parameters(source: Source) -> list[inspect.Parameter]:
    """What is left to fill in: without `self` of a bound method, or what a partial fixed."""
    try:
        parameters = inspect.signature(source.call).parameters
    except NameError as error:
        # From Python 3.14 on, annotations are evaluated when they are read.
        unresolved(source, "a parameter", error)
    except ValueError:
        source.refuse("not-a-tool", "its parameters are unknown. Wrap it in a function of your own")
    fixed = source.call.keywords if isinstance(source.call, functools.partial) else {}
    return [parameter for parameter in parameters.values() if parameter.name not in fixed]


def _refuse_variadic(source: Source, parameter: inspect.Parameter) -> None:
    name = parameter.name
    annotation = parameter.annotation
    inner = "str" if annotation is inspect.Parameter.empty else inspect.formatannotation(annotation)
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        source.refuse("var-args", f"*{name} has no fixed length that a schema could tell. Write {name}: list[{inner}]")
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        source.refuse("var-args", f"**{name} has no names that a schema could tell. Write {name}: dict[str, {inner}]")


def _refuse_unbound(source: Source, parameter: inspect.Parameter) -> None:
    owner = source.written.__qualname__.rpartition(".")[0]
    if owner and parameter.name in ("self", "cls") and parameter.annotation is inspect.Parameter.empty:
        kind = owner.rpartition(".")[2]
        text = f"it is a method without its object. Give an instance's method: tools=[{kind}(…).{source.written.__name__}]"
        source.refuse("unbound-method", text)


def _resolved(source: Source, parameter: inspect.Parameter) -> Any:
    """The annotation with its strings evaluated, alone: a return type that is unknown at run time does no harm."""
    holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    known = getattr(source.written, "__globals__", {})
    own = {variable.__name__: variable for variable in getattr(source.written, "__type_params__", ())}
    try:
        return typing.get_type_hints(holder, known, own, include_extras=True)[parameter.name]
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        return unresolved(source, f'parameter "{parameter.name}"', error)


def _wanted_deps(annotation: Any) -> tuple[Any] | None:
    """The type of the dependencies in a tuple, if `annotation` is a ToolContext or an optional one."""
    if annotation is ToolContext:
        return (Any,)
    origin = get_origin(annotation)
    if origin is ToolContext:
        return (get_args(annotation)[0],)
    if origin is Annotated:
        return _wanted_deps(get_args(annotation)[0])
    if origin in (Union, UnionType):
        members = [member for member in get_args(annotation) if member is not type(None)]
        return _wanted_deps(members[0]) if len(members) == 1 else None
    return None


def _parameter(source: Source, parameter: inspect.Parameter, annotation: Any) -> Parameter:
    name, default = parameter.name, parameter.default
    if _is_field(default):
        text = f'parameter "{name}" has a Field as its default. Write {name}: Annotated[…, Field(…)] = …'
        source.refuse("field-default", text)
    annotation, description = _without_text(annotation)
    if default is None and annotation is not Any:
        # A default is a legal value: a model that repeats it must not be told that it does not fit.
        annotation = annotation | None
    return Parameter(name, annotation, default, description)


def _without_text(annotation: Any) -> tuple[Any, str]:
    """`Annotated[T, "text"]` as T and its text; other marks stay on the type."""
    if get_origin(annotation) is not Annotated:
        return annotation, ""
    inner, *marks = get_args(annotation)
    texts = (mark if isinstance(mark, str) else getattr(mark, "description", None) for mark in marks)
    description = next((text for text in texts if text and isinstance(text, str)), "")
    return (inner if all(isinstance(mark, str) for mark in marks) else annotation), description


def _is_field(value: object) -> bool:
    """Whether `value` is a pydantic Field; known by its name, because pydantic need not be there."""
    return type(value).__name__ == "FieldInfo" and type(value).__module__.startswith("pydantic")
