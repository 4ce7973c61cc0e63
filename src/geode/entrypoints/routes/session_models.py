"""The models of a session: from what names them to how they are reached, and the effort that each is given.

Spec sections 7, 8 and 9.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, TypeAlias, cast

from geode.application.askable import Askable, window_of
from geode.domain.configuration import Found
from geode.domain.content import Owner, Text
from geode.domain.conversation import Conversation
from geode.domain.effort import inherited
from geode.domain.errors import Misuse
from geode.domain.models import row_of
from geode.domain.negotiation import negotiate
from geode.domain.prices import Price
from geode.domain.provider import Provider
from geode.domain.relay import relay_options
from geode.domain.request import AdapterCallRequest
from geode.domain.routing import Route, price_for, resolve
from geode.domain.targets import BUILT_IN
from geode.domain.thinking import Thinking, parse_thinking
from geode.domain.turns import UserTurn
from geode.entrypoints.config import Configuration, configuration, no_model
from geode.entrypoints.routes.connections import Connection, able_of, find_connection
from geode.entrypoints.routes.registry import bootstrap_builtins, current
from geode.entrypoints.routes.snapshot import Registry
from geode.entrypoints.settings import Settings
from geode.ports.model import ModelAdapter

log = logging.getLogger("geode")

HelperRole: TypeAlias = Literal["reflection", "summary"]
# What a setting that names a model comes to: an adapter, or how to come by one; and the model's id there.
Resolved: TypeAlias = tuple[ModelAdapter | Connection, str]
Open: TypeAlias = Callable[[ModelAdapter | Connection], Awaitable[ModelAdapter]]


@dataclass(frozen=True, slots=True)
class Effort:
    """The effort of a session: `explicit` goes to every model, or is refused; `stored` is the configuration's, which a
    model inherits."""

    explicit: str | None = None
    stored: str | None = None

    def of(self, model: ModelAdapter | Connection) -> str | None:
        """What is sent to the model. Nothing is inherited by one that is not known to take an effort."""
        if self.explicit is not None or not isinstance(model, Connection):
            return self.explicit
        return inherited(row_of(model.route.model, model.rows).efforts, self.stored)


class _DefaultModel:
    """The model of sessions that name none, for tests."""

    value: str | ModelAdapter | None = None


default = _DefaultModel()


class SessionModels:
    """Of one session, by its settings, the configuration and the generation of adapters of this moment.

    Misuse, when it is made, where no model is named, or one of them cannot be reached; nothing is opened.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._helpers = dict[HelperRole, Resolved]()
        self.primary = self._primary()
        self.fallbacks = self._fallbacks()

    def of_today(self) -> SessionModels:
        """Itself, or the same anew where the adapters were loaded anew since."""
        known = vars(self).get("_registry")
        return self if known is None or known is current() else SessionModels(self._settings)

    @cached_property
    def _configuration(self) -> Configuration:
        return configuration()

    @cached_property
    def _registry(self) -> Registry:
        return bootstrap_builtins()

    def _primary(self) -> Resolved:
        """By the argument, else by the configuration. Misuse where nothing names a model, or nobody serves it."""
        given = self._settings.get("model") or default.value
        if given:
            return self.resolved(given)
        named = self._configuration.found("model")
        if named is None:
            raise no_model()
        return self._configured("model", named)

    def resolved(self, model: str | ModelAdapter) -> Resolved:
        """How the model is reached. Misuse says what keeps it from that; nothing is opened."""
        if not isinstance(model, str):
            if not hasattr(model, "acomplete"):
                raise Misuse("model-type", f"model must be a model id or an adapter, got {type(model).__name__}")
            return model, model.name
        own = tuple(one.target if isinstance(one, Provider) else one for one in self._settings.get("providers", ()))
        route = self._registry.route(model, own, self._configuration.sources)
        found = find_connection(route, self._registry, self._configuration.environment)
        _say_once(found)
        _warn_once_of_plan(found)
        given = self._settings.get("provider_options", {})
        return replace(found, options=relay_options(given.get("openrouter")).unwrap()), route.model

    def _fallbacks(self) -> tuple[Resolved, ...]:
        """Each model of `fallbacks=`, or else of those that `[model.fallbacks]` names after the primary, in order."""
        model, _ = self.primary
        chain = self._chain_after(model.route) if isinstance(model, Connection) else ()
        given: object = self._settings.get("fallbacks", chain)
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise Misuse(
                "fallbacks-type", f'fallbacks must be a list of models, got {given!r:.80}. Write fallbacks=["gpt-5.2"]'
            )
        found: list[Resolved] = []
        seen = {owner_of(self.primary): "the model itself"}
        for one in cast("Sequence[object]", given):
            resolved = self.resolved(_checked(one))
            owner = owner_of(resolved)
            if owner in seen:
                way_out = "name each model once" if isinstance(one, str) else "give adapters names of their own"
                raise Misuse("fallback-twice", f"fallbacks names {owner.adapter} {owner.model}, {seen[owner]}; {way_out}")
            seen[owner] = "which it has named before"
            self._refuse_settings(resolved)
            found.append(resolved)
        return tuple(found)

    def _chain_after(self, route: Route) -> tuple[str, ...]:
        """What `[model.fallbacks]` names after the model, however its id was written."""
        table, sources = self._registry.table, self._configuration.sources
        for first, *others in filter(None, table.fallbacks.values()):
            if resolve(first, table, sources=sources).value_or(None) == route:
                return tuple(others)
        return ()

    def _refuse_settings(self, resolved: Resolved) -> None:
        """Misuse for a setting that a fallback does not take: it would be told only when nothing else is left."""
        model, id = resolved
        able = able_of(model) if isinstance(model, Connection) else model.capabilities
        if able is None:
            return
        asked = Conversation((UserTurn((Text("hi"),)),))
        settings = self._settings
        request = AdapterCallRequest(
            id,
            asked,
            effort=self.effort.of(model),
            temperature=settings.get("temperature"),
            thinking=parse_thinking(settings.get("thinking")),
        )
        problem = negotiate(owner_of(resolved).adapter, request, able).swap().value_or(None)
        if problem is not None:
            raise Misuse("fallback-setting", f"fallbacks: {problem}, or leave that fallback out")

    def askables(self, open_model: Open, temperature: float | None, thinking: Thinking | None) -> tuple[Askable, ...]:
        """The fallbacks as a loop takes them."""
        made = (self.askable(one, open_model) for one in self.fallbacks)
        return tuple(replace(one, temperature=temperature, thinking=thinking) for one in made)

    def askable(self, resolved: Resolved, open_model: Open) -> Askable:
        """The model, with what it is given of the effort of the session, and its price."""
        model, _ = resolved
        effort, price = self.effort.of(model), self.price_of(model)
        return Askable(owner_of(resolved), lambda: open_model(model), effort, window=_window(resolved), price=price)

    def summariser(self, open_model: Open) -> Askable | None:
        """Who writes the summaries of long conversations, where that is another model than the session's own."""
        resolved = self.helper("summary")
        return None if resolved == self.primary else self.askable(resolved, open_model)

    def price_of(self, model: ModelAdapter | Connection) -> Price | None:
        """What its tokens cost, where that is known; nobody knows it of an adapter that the host made itself."""
        return price_for(model.route, self._registry.table.prices) if isinstance(model, Connection) else None

    def refuse_unpriced(self, *, compacts: bool) -> None:
        """Misuse where a budget of dollars could not be kept: nobody says what a call of one of the models costs.

        `compacts`: summaries may be written, by the model that is configured for them.
        """
        summary = (self.helper("summary"),) if compacts else ()
        for model, id in (self.primary, *self.fallbacks, *summary):
            if not isinstance(model, Connection) or self.price_of(model) is not None:
                continue
            target = model.route.target
            if target.credential.billing == "subscription":
                why = f"{target.name} is paid for by a plan, and no call has a price of its own"
            elif target.transport is not None and target.transport.dialect == "openrouter":  # says itself what it charged
                continue
            else:
                row = f'[prices] "{model.route.id}" = {{ input = …, output = … }}'
                why = f"no price of {target.name} {id} is known. A row of routing.toml says it: {row}"
            raise Misuse("cost-unknown", f"Policy(max_cost_usd=…) cannot be kept: {why}")

    def helper(self, role: HelperRole) -> Resolved:
        """The model of calls beside a run: by `reflection_model` or `summary_model` of the configuration, else the primary.

        The same one each time. A program that made its model itself has no other asked.
        """
        if role not in self._helpers:
            self._helpers[role] = self._helper(role)
        return self._helpers[role]

    def _helper(self, role: HelperRole) -> Resolved:
        primary = self.primary
        if not isinstance(primary[0], Connection):
            return primary
        named = self._configuration.found(f"{role}_model")
        return primary if named is None else self._configured(f"{role}_model", named)

    def _configured(self, setting: str, named: Found) -> Resolved:
        try:
            return self.resolved(named.value)
        except Misuse as error:
            raise error.said_of(f"{setting} {named.value} comes from {named.place}") from None

    @property
    def effort(self) -> Effort:
        """See `Effort`."""
        explicit = self._settings.get("effort")
        if explicit is not None or "_configuration" not in vars(self):
            return Effort(explicit)
        return Effort(None, self._configuration.value("effort"))


def owner_of(resolved: Resolved) -> Owner:
    """What the model is called in a run."""
    model, id = resolved
    return Owner(model.route.target.name if isinstance(model, Connection) else model.name, id)


def _window(resolved: Resolved) -> int | None:
    model, id = resolved
    return row_of(id, model.rows).window if isinstance(model, Connection) else window_of(model, id)


def _checked(one: object) -> str | ModelAdapter:
    if not isinstance(one, str) and (isinstance(one, type) or not hasattr(one, "acomplete")):
        kind = one.__name__ if isinstance(one, type) else type(one).__name__
        raise Misuse("fallbacks-type", f"fallbacks must hold model ids or adapters, got {kind}")
    return cast("str | ModelAdapter", one)


_said = set[str]()


# The address of Z.ai's coding plan, wherever it was declared.
_CODING_PLAN: Final = "/api/coding/paas/"


def _warn_once_of_plan(connection: Connection) -> None:
    """That the terms of the coding plan limit who may use it, once in a process."""
    endpoint = connection.endpoint
    if endpoint is None or _CODING_PLAN not in endpoint.base_url or _CODING_PLAN in _said:
        return
    _said.add(_CODING_PLAN)
    limits = BUILT_IN["glm-coding-plan"].credential.limits
    log.warning("%s goes to %s: %s", connection.route.target.name, endpoint.address, limits)


def _say_once(connection: Connection) -> None:
    """That nothing is known of a model, once in a process."""
    route = connection.route
    if row_of(route.model, connection.rows).known or route.id in _said:
        return
    _said.add(route.id)
    log.info(
        "nothing is known of the model %s: no effort, sampling or window is assumed; a row [models.%r] in routing.toml says it",
        route.id,
        route.id,
    )
