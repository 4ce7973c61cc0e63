"""The models of the roles as they are configured: what can be chosen, what is stored, and storing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from geode.domain.errors import Misuse
from geode.domain.models import CLAUDE, GPT, row_of
from geode.domain.picking import Chosen, ChosenName, ModelChoice
from geode.domain.routing import Provider, resolve
from geode.domain.windows import window_of
from geode.entrypoints.providers import find_connection


def choices(providers: Sequence[Provider] = ()) -> tuple[ModelChoice, ...]:
    """Every model that something is known of."""
    return tuple(choice_of(row.prefix, providers) for row in (*CLAUDE, *GPT))


def choice_of(model: str, providers: Sequence[Provider] = ()) -> ModelChoice:
    """What is known of a model, and why it cannot be used, if it cannot."""
    found = resolve(model, providers)
    problem = found.swap().value_or(None)
    if problem is not None:
        return ModelChoice(model, unusable=problem)
    route = found.unwrap()
    row = row_of(route.model, (*CLAUDE, *GPT))
    return ModelChoice(model, route.provider.name, row.efforts, None, window_of(route.model), unusable=_unusable(route))


def _unusable(route) -> str:
    try:
        find_connection(route)
    except Misuse as error:
        return str(error).removesuffix(f" [{error.id}]")
    return ""


def stored() -> Chosen:
    return Chosen()


def save(changes: Mapping[ChosenName, str | None], *, project: bool = False) -> Iterator[str]:
    raise NotImplementedError
