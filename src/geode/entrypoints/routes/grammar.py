"""The grammar of `routing.toml`: its keys, what each takes, and what is wrong with a file that has others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, TypeAlias, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from geode.domain.configuration import toml_kind
from geode.domain.models import EffortBesideTools, ThinkingKind
from geode.domain.naming import closest
from geode.domain.targets import ChoiceKind, ContentBesideCalls, DialectName, ImagePlace, OutputLimitName, WireName

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at one place of the file: the keys that lead there, and the words."""

    path: Path
    text: str


def _exact(value: object) -> object:
    """A number as it is written: 1.75 is no binary fraction."""
    return Decimal(repr(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value


_Dollars: TypeAlias = Annotated[Decimal, BeforeValidator(_exact), Field(ge=0, allow_inf_nan=False)]
_Tokens: TypeAlias = Annotated[int, Field(ge=1)]
_Word: TypeAlias = Annotated[str, Field(min_length=1)]
ChoiceWord: TypeAlias = Literal["any", "unforced", "unless_effort"]
SamplingWord: TypeAlias = Literal["any", "default", "at_none"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Model(_Table):
    defaults: dict[str, _Word] = {}
    fallbacks: dict[str, list[_Word]] = {}


class _Routing(_Table):
    prefixes: dict[str, _Word] = {}


class DeclaredQuirks(_Table):
    tools: bool | None = None
    choice: list[ChoiceKind] | None = None
    content_beside_calls: ContentBesideCalls | None = None
    images: ImagePlace | None = None
    stream_usage: bool | None = None
    output_limit: OutputLimitName | None = None
    response_schema: bool | None = None


class DeclaredProvider(_Table):
    base_url: _Word | None = None
    wire: WireName | None = None
    dialect: DialectName | None = None
    key: _Word | None = None
    bin: _Word | None = None
    login: _Word | None = None
    quirks: DeclaredQuirks | None = None
    options: dict[str, Any] | None = None


class DeclaredRow(_Table):
    like: _Word | None = None
    window: _Tokens | None = None
    output: _Tokens | None = None
    effort: list[_Word] | None = None
    default_effort: _Word | None = None
    thinking: list[ThinkingKind] | None = None
    sampling: SamplingWord | None = None
    choice: ChoiceWord | None = None
    effort_with_tools: EffortBesideTools | None = None
    binds_thinking: bool | None = None
    tool_search: bool | None = None


MODEL_ROW_KEYS: Final = tuple(DeclaredRow.model_fields)


class _Price(_Table):
    input: _Dollars
    output: _Dollars
    cached: _Dollars | None = None
    cache_write: _Dollars | None = None
    cache_write_1h: _Dollars | None = None
    above: Annotated[int, Field(ge=0)] = 0
    input_above: _Dollars = Decimal(1)
    output_above: _Dollars = Decimal(1)
    source: str = ""


class File(_Table):
    model: _Model = _Model()
    sources: dict[str, _Word] = {}
    routing: _Routing = _Routing()
    providers: dict[str, DeclaredProvider] = {}
    models: dict[str, DeclaredRow] = {}
    prices: dict[str, _Price] = {}


def grammar_problems(values: Mapping[str, Any]) -> list[Problem]:
    """What of the values is no key, or of another kind than it has to be."""
    try:
        File.model_validate(values)
    except ValidationError as error:
        return [_problem(cast("dict[str, Any]", one)) for one in error.errors(include_url=False)]
    return []


def _problem(error: Mapping[str, Any]) -> Problem:
    """In the words of TOML, and without the value: it may be a secret in the wrong place."""
    path = tuple(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        known = _keys_at(path[:-1])
        close = closest(path[-1], known)
        hint = f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}"
        return Problem(path, f'"{path[-1]}" is no key; {hint}')
    context, got = error.get("ctx", {}), f", got {toml_kind(error['input'])}"
    said = {
        "missing": "it is missing",
        "string_too_short": "it is empty",
        "literal_error": f"must be {context.get('expected', '')}",
        "greater_than_equal": f"must be {context.get('ge', '')} or more",
        "finite_number": "must be a finite number",
        "string_type": f"must be text in quotes{got}",
        **dict.fromkeys(("int_type", "int_from_float"), f"must be a whole number{got}"),
        "bool_type": f"must be true or false{got}",
        "list_type": f"must be a list{got}",
        **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), f"must be a table{got}"),
    }
    return Problem(path, said.get(error["type"], f"must be a number{got}"))


def _keys_at(path: Path) -> list[str]:
    """The keys that the table at `path` may have."""
    table: type[BaseModel] = File
    for part in path:
        field = table.model_fields.get(part)
        if field is not None:
            table = next((kind for kind in _kinds(field.annotation) if issubclass(kind, _Table)), table)
    return list(table.model_fields)


def _kinds(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type):
        if issubclass(annotation, BaseModel):
            yield annotation
        return
    for inner in getattr(annotation, "__args__", ()):
        yield from _kinds(inner)
