"""`routing.toml`: the shipped one and the user's, merged by key, checked, and made a `RoutingTable` (spec section 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeAlias, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from geode.domain.configuration import toml_kind
from geode.domain.key_sources import KEY_FORMS, GivenKey, parse_key_source
from geode.domain.models import EffortBesideTools, ModelRow, ThinkingKind
from geode.domain.naming import closest
from geode.domain.prices import Price
from geode.domain.provider import ADDRESS_FORM, Provider, address_problem
from geode.domain.routing import RoutingTable, resolve, target_of
from geode.domain.targets import (
    BUILT_IN,
    IDENTITIES,
    SPOKEN_IN,
    ChoiceKind,
    ContentBesideCalls,
    DialectName,
    ImagePlace,
    OutputLimitName,
    Quirks,
    Target,
    WireName,
    choice_problem,
)

Path: TypeAlias = tuple[str, ...]
# The key of the model of sessions that name none.
PRIMARY: Final = "primary"
_UNSERVED: Final = "no provider serves such a model; geode models lists what is known"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at one place of the file: the keys that lead there, and the words."""

    path: Path
    text: str


# ---- the grammar -------------------------------------------------------------------------------


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


class _Quirks(_Table):
    tools: bool | None = None
    choice: list[ChoiceKind] | None = None
    content_beside_calls: ContentBesideCalls | None = None
    images: ImagePlace | None = None
    stream_usage: bool | None = None
    output_limit: OutputLimitName | None = None


class _Provider(_Table):
    base_url: _Word | None = None
    wire: WireName | None = None
    dialect: DialectName | None = None
    key: _Word | None = None
    quirks: _Quirks | None = None


class _Row(_Table):
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


MODEL_ROW_KEYS: Final = tuple(_Row.model_fields)


class _Price(_Table):
    input: _Dollars
    output: _Dollars
    cached: _Dollars | None = None
    cache_write: _Dollars | None = None
    above: Annotated[int, Field(ge=0)] = 0
    input_above: _Dollars = Decimal(1)
    output_above: _Dollars = Decimal(1)
    source: str = ""


class _File(_Table):
    model: _Model = _Model()
    sources: dict[str, _Word] = {}
    routing: _Routing = _Routing()
    providers: dict[str, _Provider] = {}
    models: dict[str, _Row] = {}
    prices: dict[str, _Price] = {}


def grammar_problems(values: Mapping[str, Any]) -> list[Problem]:
    """What of the values is no key, or of another kind than it has to be."""
    try:
        _File.model_validate(values)
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
    table: type[BaseModel] = _File
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


# ---- merging -----------------------------------------------------------------------------------


def merged(shipped: Mapping[str, Any], user: Mapping[str, Any]) -> dict[str, Any]:
    """By key, tables in tables; the user's prefixes before the shipped ones, since the first that fits wins."""
    both = _merged(shipped, user)
    own = user.get("routing", {}).get("prefixes", {})
    if own:
        both["routing"] = {**both["routing"], "prefixes": {**own, **both["routing"]["prefixes"], **own}}
    return both


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(under)
    for key, value in over.items():
        below = both.get(key)
        tables = isinstance(value, Mapping) and isinstance(below, Mapping)
        both[key] = _merged(cast("Mapping[str, Any]", below), cast("Mapping[str, Any]", value)) if tables else value
    return both


# ---- values ------------------------------------------------------------------------------------


def table_of(values: Mapping[str, Any], added: Mapping[str, Target] | None = None) -> tuple[RoutingTable, list[Problem]]:
    """The table that `values`, whose grammar is right, stand for with the targets `added`, and what in it cannot be."""
    file = _File.model_validate(values)
    targets, problems = _targets(file)
    table = RoutingTable(
        MappingProxyType(file.model.defaults),
        MappingProxyType({name: tuple(chain) for name, chain in file.model.fallbacks.items()}),
        tuple(file.routing.prefixes.items()),
        MappingProxyType(file.sources),
        MappingProxyType({**targets, **(added or {})}),
        prices=MappingProxyType({name: Price(**dict(price)) for name, price in file.prices.items()}),
    )
    problems += [*_leads_nowhere(table), *_row_problems(file)]
    if not problems:
        table = replace(table, models=tuple(_row(name, file, table) for name in file.models))
    return table, problems


def _targets(file: _File) -> tuple[dict[str, Target], list[Problem]]:
    targets, problems = dict(BUILT_IN), list[Problem]()
    for name, declared in file.providers.items():
        found = list(_provider_problems(name, declared))
        problems += found
        if not found:
            targets[name] = _moved(BUILT_IN[name], declared) if name in BUILT_IN else _declared(name, declared)
    return targets, problems


def _provider_problems(name: str, declared: _Provider) -> Iterator[Problem]:
    path = ("providers", name)
    if name in IDENTITIES:
        yield Problem(path, f'"{name}" is the name of a maker of models. Call your server otherwise')
    if not name or "/" in name or any(letter.isspace() for letter in name):
        yield Problem(path, "the name of a provider is one word without a slash: models are NAME/MODEL")
    key = parse_key_source(declared.key)
    if problem := key.swap().value_or(""):
        yield Problem((*path, "key"), problem)
    elif isinstance(key.unwrap(), GivenKey):
        yield Problem((*path, "key"), f"a key is never written into this file. Write one of {KEY_FORMS}")
    if name in BUILT_IN:
        for field in ("wire", "dialect", "quirks"):
            if getattr(declared, field) is not None:
                yield Problem((*path, field), f"{name} ships with geode: its address and its key may be moved, nothing else")
    elif declared.base_url is None:
        yield Problem(path, f'[providers.{name}] has no base_url. Write base_url = "http://HOST:PORT/v1"')
    if declared.base_url is not None and address_problem(declared.base_url):
        yield Problem((*path, "base_url"), ADDRESS_FORM)
    yield from _speech_problems(path, declared)


def _speech_problems(path: Path, declared: _Provider) -> Iterator[Problem]:
    """What is wrong with its wire, its dialect and its quirks."""
    wire = declared.wire or "chat"
    if declared.dialect is not None and declared.dialect not in SPOKEN_IN[wire]:
        yield Problem((*path, "dialect"), f"the wire {wire} has: {', '.join(SPOKEN_IN[wire])}")
    if declared.quirks is not None:
        yield from _quirk_problems((*path, "quirks"), wire, declared.quirks)


def _quirk_problems(path: Path, wire: WireName, quirks: _Quirks) -> Iterator[Problem]:
    if wire != "chat":
        yield Problem(path, "quirks are of compatible Chat servers")
    if quirks.choice is not None and (problem := choice_problem(quirks.choice)):
        yield Problem((*path, "choice"), problem)


def _moved(shipped: Target, declared: _Provider) -> Target:
    transport, credential = shipped.transport, shipped.credential
    if declared.base_url is not None and transport is not None:
        transport = replace(transport, base_url=declared.base_url, origin="routing.toml")
    if declared.key is not None:
        credential = replace(credential, key=declared.key)
    return replace(shipped, transport=transport, credential=credential)


def _declared(name: str, declared: _Provider) -> Target:
    quirks = Quirks() if declared.quirks is None else Quirks(**dict(declared.quirks))
    return Provider(
        name,
        declared.wire or "chat",
        declared.base_url or "",
        declared.key,
        declared.dialect or "generic",
        quirks,
        origin="routing.toml",
    ).target


def _leads_nowhere(table: RoutingTable) -> Iterator[Problem]:
    """Names that are nobody's. None is shown: the place says where it stands."""
    yield from _name_problems(table)
    for name, model in table.defaults.items():
        if not _is_served(model, table):
            yield Problem(("model", "defaults", name), _UNSERVED)
    for name, chain in table.fallbacks.items():
        yield from _chain_problems(("model", "fallbacks", name), chain, table)


def _name_problems(table: RoutingTable) -> Iterator[Problem]:
    known = [*IDENTITIES, *table.targets]
    for section in ("defaults", "fallbacks"):
        for name in getattr(table, section):
            if name not in known and name != PRIMARY:
                yield Problem(("model", section, name), f'"{name}" is no key; {_hint(name, [PRIMARY, *known])}')
    for identity, source in table.sources.items():
        if target_of(identity, source, table.targets).swap().value_or(None) is not None:
            of_identity = [one.credential.source for one in table.targets.values() if one.identity.id == identity]
            has = f"the sources of {identity} are: {', '.join(of_identity)}" if of_identity else _hint(identity, [*IDENTITIES])
            yield Problem(("sources", identity), f"there is no such source; {has}")
    for prefix, to in table.prefixes:
        if to not in known:
            yield Problem(("routing", "prefixes", prefix), f"nobody is called so; {_hint(to, known)}")


def _hint(name: str, known: Sequence[str]) -> str:
    close = closest(name, known)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"


def _is_served(model: str, table: RoutingTable) -> bool:
    return resolve(model, table).swap().value_or(None) is None


def _chain_problems(path: Path, chain: tuple[str, ...], table: RoutingTable) -> Iterator[Problem]:
    first = table.defaults.get(path[-1])
    if chain and chain[0] != first:
        said = f'"{first}"' if first else f"and [model.defaults] has no {path[-1]}"
        yield Problem(path, f"a chain starts with the default of that name, {said}")
    if len(set(chain)) != len(chain):
        yield Problem(path, "a chain names each model once")
    if not all(_is_served(model, table) for model in chain):
        yield Problem(path, _UNSERVED)


# ---- rows --------------------------------------------------------------------------------------


def _row_problems(file: _File) -> Iterator[Problem]:
    for name, row in file.models.items():
        if row.like is not None and row.like not in file.models:
            close = closest(row.like, file.models)
            hint = f"; did you mean {close[0]}?" if close else ""
            yield Problem(("models", name, "like"), f"there is no such row{hint}")
            continue
        facts = _facts(name, file)
        if facts is None:
            yield Problem(("models", name, "like"), "the rows are like each other in a circle")
        elif (word := facts.get("default_effort")) and facts.get("effort") is not None and word not in facts["effort"]:
            yield Problem(("models", name, "default_effort"), f"must be one of its efforts: {', '.join(facts['effort'])}")


def _facts(name: str, file: _File) -> dict[str, Any] | None:
    """What the row says, and what those say that it is like; None where that goes in a circle."""
    facts, seen = dict[str, Any](), set[str]()
    at: str | None = name
    while at is not None and at in file.models:
        if at in seen:
            return None
        seen.add(at)
        row = file.models[at]
        facts = {**{field: value for field, value in dict(row).items() if value is not None and field != "like"}, **facts}
        at = row.like
    return facts


def _row(name: str, file: _File, table: RoutingTable) -> ModelRow:
    facts = _facts(name, file) or {}
    changes: dict[str, Any] = {field: facts[field] for field in ("window", "output", "default_effort") if field in facts}
    if "effort" in facts:
        changes["efforts"] = tuple(facts["effort"])
    if "thinking" in facts:
        changes["thinking"] = frozenset(facts["thinking"])
    if "effort_with_tools" in facts:
        changes["effort_beside_tools"] = facts["effort_with_tools"]
    sampling, choice = facts.get("sampling", "any"), facts.get("choice", "any")
    return ModelRow(
        name,
        forced_choice=choice != "unforced",
        forced_with_effort=choice != "unless_effort",
        sampling=sampling == "any",
        sampling_at_none=sampling == "at_none",
        binds_prefix=facts.get("binds_thinking", False),
        maker=_maker(name, table),
        **changes,
    )


def _maker(name: str, table: RoutingTable) -> str:
    """Who makes the models of a row: whoever their ids lead to."""
    if "/" in name:
        return ""
    to = next((to for prefix, to in table.prefixes if name.startswith(prefix)), "")
    return table.targets[to].identity.id if to in table.targets else to
