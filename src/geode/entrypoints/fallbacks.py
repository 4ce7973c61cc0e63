"""The models after the primary, by `fallbacks=`: known from the start, opened when they are switched to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from geode.application.askable import Askable, window_of
from geode.domain.content import Owner
from geode.domain.errors import Misuse
from geode.domain.models import row_of
from geode.domain.thinking import Thinking
from geode.entrypoints.providers import Connection
from geode.entrypoints.resolution import Effort, Resolved
from geode.entrypoints.settings import Settings
from geode.ports.model import ModelAdapter

Open: TypeAlias = Callable[[ModelAdapter | Connection], Awaitable[ModelAdapter]]


def owner_of(resolved: Resolved) -> Owner:
    """What the model is called in a run."""
    model, id = resolved
    return Owner(model.route.target.name if isinstance(model, Connection) else model.name, id)


def fallbacks_of(
    settings: Settings,
    primary: Resolved,
    resolve: Callable[[str | ModelAdapter], Resolved],
    configured: Sequence[str] = (),
) -> tuple[Resolved, ...]:
    """Each model of `fallbacks=`, or else of those that are `configured` for the primary, in order.

    Misuse for what is no model, and for one that is named twice.
    """
    given: object = settings.get("fallbacks", configured)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise Misuse("fallbacks-type", f'fallbacks must be a list of models, got {given!r:.80}. Write fallbacks=["gpt-5.2"]')
    found: list[Resolved] = []
    seen = {owner_of(primary): "the model itself"}
    for one in given:
        if not isinstance(one, str) and (isinstance(one, type) or not hasattr(one, "acomplete")):
            kind = one.__name__ if isinstance(one, type) else type(one).__name__
            raise Misuse("fallbacks-type", f"fallbacks must hold model ids or adapters, got {kind}")
        resolved = resolve(one)
        owner = owner_of(resolved)
        if owner in seen:
            way_out = "name each model once" if isinstance(one, str) else "give adapters names of their own"
            raise Misuse("fallback-twice", f"fallbacks names {owner.adapter} {owner.model}, {seen[owner]}; {way_out}")
        seen[owner] = "which it has named before"
        found.append(resolved)
    return tuple(found)


def _window(resolved: Resolved) -> int | None:
    model, id = resolved
    return row_of(id, model.rows).window if isinstance(model, Connection) else window_of(model, id)


def askables_of(
    fallbacks: Sequence[Resolved],
    open_model: Open,
    effort: Effort,
    temperature: float | None,
    thinking: Thinking | None,
) -> tuple[Askable, ...]:
    """The fallbacks as a loop takes them, with the settings of the session."""

    def askable(resolved: Resolved) -> Askable:
        return Askable(
            owner_of(resolved),
            lambda: open_model(resolved[0]),
            effort.of(resolved[0]),
            temperature,
            thinking,
            _window(resolved),
        )

    return tuple(map(askable, fallbacks))
