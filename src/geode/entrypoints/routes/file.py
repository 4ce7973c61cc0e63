"""`routing.toml`: the shipped one and the user's, merged by key, checked, and made a `RoutingTable` (spec section 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, cast

from geode.domain.addresses import address_rule
from geode.domain.key_sources import KEY_FORMS, FromOAuth, GivenKey, parse_key_source
from geode.domain.naming import closest
from geode.domain.prices import Price
from geode.domain.provider import Provider
from geode.domain.relay import relay_options
from geode.domain.routing import RoutingTable, resolve, target_of
from geode.domain.targets import (
    BUILT_IN,
    IDENTITIES,
    SPOKEN_IN,
    Quirks,
    Target,
    WireName,
    choice_problem,
)
from geode.entrypoints.routes.grammar import DeclaredProvider, DeclaredQuirks, File, Path, Problem
from geode.entrypoints.routes.rows import row_of_file, row_problems

# The key of the model of sessions that name none.
PRIMARY: Final = "primary"
_UNSERVED: Final = "no provider serves such a model; geode models lists what is known"


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
    file = File.model_validate(values)
    targets, problems = _targets(file)
    table = RoutingTable(
        MappingProxyType(file.model.defaults),
        MappingProxyType({name: tuple(chain) for name, chain in file.model.fallbacks.items()}),
        tuple(file.routing.prefixes.items()),
        MappingProxyType(file.sources),
        MappingProxyType({**targets, **(added or {})}),
        prices=MappingProxyType({name: Price(**dict(price)) for name, price in file.prices.items()}),
    )
    problems += [*_leads_nowhere(table), *row_problems(file)]
    if not problems:
        table = replace(table, models=tuple(row_of_file(name, file, table) for name in file.models))
    return table, problems


def _targets(file: File) -> tuple[dict[str, Target], list[Problem]]:
    targets, problems = dict(BUILT_IN), list[Problem]()
    for name, declared in file.providers.items():
        found = list(_provider_problems(name, declared))
        problems += found
        if not found:
            targets[name] = _moved(BUILT_IN[name], declared) if name in BUILT_IN else _declared(name, declared)
    return targets, problems


def _provider_problems(name: str, declared: DeclaredProvider) -> Iterator[Problem]:
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
    if declared.base_url is not None and (rule := address_rule(declared.base_url)):
        yield Problem((*path, "base_url"), rule)
    yield from _program_problems(path, name, declared)
    yield from _speech_problems(path, declared)


def _program_problems(path: Path, name: str, declared: DeclaredProvider) -> Iterator[Problem]:
    """What is wrong with how a program is declared, or with what only programs have."""
    programs = [one.name for one in BUILT_IN.values() if one.program is not None]
    if name not in programs:
        for field in ("bin", "login"):
            if getattr(declared, field) is not None:
                yield Problem((*path, field), f"{field} is of the adapters over a program: {', '.join(programs)}")
        return
    if declared.key is not None and declared.login is not None:
        yield Problem((*path, "login"), "either a key pays or the plan of a login: leave one of them out")
    if isinstance(parse_key_source(declared.key).value_or(None), FromOAuth):
        yield Problem((*path, "key"), f"{name} takes a key of an API; a login of its own is named by login")


def _speech_problems(path: Path, declared: DeclaredProvider) -> Iterator[Problem]:
    """What is wrong with its wire, its dialect and its quirks."""
    wire = declared.wire or "chat"
    if declared.dialect is not None and declared.dialect not in SPOKEN_IN[wire]:
        yield Problem((*path, "dialect"), f"the wire {wire} has: {', '.join(SPOKEN_IN[wire])}")
    if declared.quirks is not None:
        yield from _quirk_problems((*path, "quirks"), wire, declared.quirks)
    yield from _option_problems((*path, "options"), declared)


def _option_problems(path: Path, declared: DeclaredProvider) -> Iterator[Problem]:
    if declared.options is None:
        return
    shipped = BUILT_IN.get(path[1])
    spoken = declared.dialect if shipped is None or shipped.transport is None else shipped.transport.dialect
    if spoken != "openrouter":
        yield Problem(path, 'options are those of the dialect "openrouter"')
    elif problem := relay_options(declared.options).swap().value_or(""):
        yield Problem(path, problem)


def _quirk_problems(path: Path, wire: WireName, quirks: DeclaredQuirks) -> Iterator[Problem]:
    if wire != "chat":
        yield Problem(path, "quirks are of compatible Chat servers")
    if quirks.choice is not None and (problem := choice_problem(quirks.choice)):
        yield Problem((*path, "choice"), problem)


def _moved(shipped: Target, declared: DeclaredProvider) -> Target:
    transport, credential = shipped.transport, shipped.credential
    if declared.base_url is not None and transport is not None:
        transport = replace(transport, base_url=declared.base_url, origin="routing.toml")
    if declared.options is not None and transport is not None:
        transport = replace(transport, options=relay_options(declared.options).unwrap())
    if declared.key is not None:
        credential = replace(credential, key=declared.key)
    if shipped.program is None:
        return replace(shipped, transport=transport, credential=credential)
    changes = {field: value for field in ("bin", "login", "base_url") if (value := getattr(declared, field)) is not None}
    if declared.login is not None or declared.key is not None:
        credential = replace(credential, billing="api" if declared.login is None else "subscription")
    return replace(shipped, credential=credential, program=replace(shipped.program, **changes))


def _declared(name: str, declared: DeclaredProvider) -> Target:
    quirks = Quirks() if declared.quirks is None else Quirks(**dict(declared.quirks))
    return Provider(
        name,
        declared.wire or "chat",
        declared.base_url or "",
        declared.key,
        declared.dialect or "generic",
        quirks,
        origin="routing.toml",
        options=declared.options,
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
