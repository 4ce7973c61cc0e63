"""From a model id to the target that serves it, and the name it has there (spec section 8).

An id is read once, here. What comes of it is a value; whoever sends never looks into an id again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from returns.result import Failure, Result, Success

from geode.domain.models import ModelRow
from geode.domain.naming import closest
from geode.domain.prices import Price, price_of
from geode.domain.targets import BUILT_IN, IDENTITIES, Target

OPENROUTER_NAMESPACE: Final = "openrouter"
_LONGEST: Final = 256
# Models that the relay itself serves; their own ids begin with its name.
_OF_THE_RELAY: Final = frozenset({"auto", "free"})


@dataclass(frozen=True, slots=True)
class Route:
    """A target and the model id that it is asked for. `id` is what was asked for."""

    target: Target
    model: str
    id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RoutingTable:
    """What `routing.toml` says, the shipped one with the user's merged in.

    `defaults` are model ids by identity, and under `primary` the one of a session that names none. `fallbacks`
    are chains by the same names. `prefixes` lead to an identity or a target; the first that fits wins. `sources`
    choose the credential route of an identity. `targets` are all that can be named. `places` says which file has
    what was not shipped, by the path of its keys.
    """

    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    fallbacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    prefixes: tuple[tuple[str, str], ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    targets: Mapping[str, Target] = field(default_factory=lambda: dict(BUILT_IN))
    models: tuple[ModelRow, ...] = ()
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])


def price_for(route: Route, prices: Mapping[str, Price]) -> Price | None:
    """What tokens cost there, where each of them is paid for and that is known.

    A plan pays for a span of time. A server that nobody knows may ask another price for a model of a known name: its
    own row, by the whole id, says it.
    """
    billing = route.target.credential.billing
    if billing == "subscription":
        return None
    own = prices.get(route.id) or prices.get(f"{route.target.name}/{route.model}")
    return own or (price_of(route.model.rpartition("/")[2], prices) if billing in ("api", "credits") else None)


def resolve(
    model: str, table: RoutingTable, own: Sequence[Target] = (), sources: Mapping[str, str] | None = None
) -> Result[Route, str]:
    """The route of `model`, or why there is none.

    A namespace, the name of a target or of an identity before the first slash, is stronger than any prefix.
    `own` are targets of the caller's, each in the place of one of its name. `sources` are stronger than the
    table's.
    """
    if problem := _id_problem(model):
        return Failure(f"the model id {model!r:.80} {problem}")
    known = {**table.targets, **{target.name: target for target in own}}
    to, left = _leads_to(model, table, known)
    if not to:
        return Failure(_unknown(model, table, known, own))
    if not left:
        return Failure(f'the model id "{model}" names no model after its namespace')
    target = Success(known[to]) if to in known else _of_identity(to, known, {**table.sources, **(sources or {})})
    return target.bind(lambda target: _asked_for(target, left, model))


def _leads_to(model: str, table: RoutingTable, known: Mapping[str, Target]) -> tuple[str, str]:
    """The target or the identity that an id leads to, and what is left of it there; "" where it leads to nobody."""
    name, slash, rest = model.partition("/")
    if slash and (name in known or name in _identities(known)):
        return name, rest
    for prefix, to in table.prefixes:
        if model.startswith(prefix) and (not slash or prefix.endswith("/")):
            return to, model.removeprefix(prefix) if prefix.endswith("/") else model
    return "", ""


def _id_problem(model: str) -> str:
    """What no id of a model has; "" if nothing is wrong. Whatever passes can be sent and shown."""
    if not model or model != model.strip():
        return "is empty or has white space around it"
    if not model.isprintable():
        return "has line ends, control characters or half of a character in it"
    return "" if len(model) <= _LONGEST else f"has {len(model)} characters; no id has more than {_LONGEST}"


def target_of(identity: str, source: str, targets: Mapping[str, Target]) -> Result[Target, str]:
    """The one target of an identity that is paid by `source`, or why there is none."""
    of_identity = [target for target in targets.values() if target.identity.id == identity]
    found = [target for target in of_identity if target.credential.source == source]
    if len(found) == 1:
        return Success(found[0])
    if found:
        names = ", ".join(target.name for target in found)
        return Failure(f"several adapters serve {identity} by the source {source!r}: {names}. Name one: NAME/MODEL")
    words = ", ".join(target.credential.source for target in of_identity)
    if not words:
        return Failure(f"nobody serves {identity!r}. Known: {', '.join(sorted(_identities(targets)))}")
    return Failure(f"{identity} has no such credential source. It has: {words}")


def _of_identity(identity: str, targets: Mapping[str, Target], sources: Mapping[str, str]) -> Result[Target, str]:
    of_identity = [target for target in targets.values() if target.identity.id == identity]
    # Where there is but one account there is nothing to choose.
    only = of_identity[0].credential.source if len(of_identity) == 1 else ""
    return target_of(identity, sources.get(identity, only), targets)


def _asked_for(target: Target, left: str, model: str) -> Result[Route, str]:
    """The route by the name that the model has at its target; the relay's own models begin with the relay's name."""
    if target.identity.id == OPENROUTER_NAMESPACE:
        publisher, slash, name = left.partition("/")
        if not slash and left in _OF_THE_RELAY:
            left = f"{OPENROUTER_NAMESPACE}/{left}"
        elif not (publisher and name) or "/" in name or any(letter.isspace() for letter in left):
            return Failure(f'a model of OpenRouter is openrouter/PUBLISHER/MODEL, got "{model}"')
    return Success(Route(target, left, model))


def _identities(targets: Mapping[str, Target]) -> frozenset[str]:
    # The name of a server of one's own is its identity too; it was looked for by name.
    return frozenset({*IDENTITIES, *(target.identity.id for target in targets.values())})


def _unknown(model: str, table: RoutingTable, known: Mapping[str, Target], own: Sequence[Target]) -> str:
    name, _, rest = model.partition("/")
    declared = list(_not_shipped(known, own))
    close = closest(name, [*declared, *IDENTITIES] if rest else declared)
    hint = f"; did you mean {close[0]}/{rest or '…'}?" if close else "."
    shown = [f"{name}/…" for name in (*declared, OPENROUTER_NAMESPACE)] + [f"{prefix}…" for prefix, _ in table.prefixes]
    return (
        f'no provider serves the model "{model}"{hint} Known: {", ".join(shown)}, or give session(providers=[Provider(…)]), '
        "or declare it in routing.toml"
    )


def _not_shipped(known: Mapping[str, Target], own: Sequence[Target]) -> Iterator[str]:
    yield from (target.name for target in own)
    given = {target.name for target in own}
    yield from (name for name in known if name not in BUILT_IN and name not in given)
