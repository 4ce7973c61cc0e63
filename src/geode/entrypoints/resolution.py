"""From what names a model to how it is reached, and the effort that it is given (spec sections 8 and 9)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from geode.domain.configuration import Found
from geode.domain.effort import inherited
from geode.domain.errors import Misuse
from geode.domain.models import row_of
from geode.domain.provider import Provider
from geode.entrypoints.config import Configuration, configuration, no_model
from geode.entrypoints.providers import Connection, find_connection
from geode.entrypoints.registry import Registry, bootstrap_builtins
from geode.entrypoints.settings import Settings
from geode.ports.model import ModelAdapter

log = logging.getLogger("geode")

HelperRole: TypeAlias = Literal["reflection", "summary"]
# What a setting that names a model comes to: an adapter, or how to come by one; and the model's id there.
Resolved: TypeAlias = tuple[ModelAdapter | Connection, str]


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


class Resolution:
    """Of one session, in the configuration and the generation of adapters of this moment. Read when it is needed."""

    def __init__(self, settings: Settings, default: str | ModelAdapter | None = None) -> None:
        """`default` is the model of sessions that name none, in tests."""
        self._settings, self._default = settings, default
        self._helpers = dict[HelperRole, Resolved]()

    @cached_property
    def _configuration(self) -> Configuration:
        return configuration()

    @cached_property
    def _registry(self) -> Registry:
        return bootstrap_builtins()

    @cached_property
    def primary(self) -> Resolved:
        """By the argument, else by the configuration. Misuse where nothing names a model, or nobody serves it."""
        given = self._settings.get("model") or self._default
        if given:
            return self.resolved(given)
        named = self._configuration.found("model")
        if named is None:
            raise no_model()
        return self._configured(named)

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
        return found, route.model

    def chain_after(self, primary: Resolved) -> tuple[str, ...]:
        """The models that `[model.fallbacks]` names after this one; none where no chain begins with it."""
        model, _ = primary
        return self._registry.table.chain_of(model.route.id)[1:] if isinstance(model, Connection) else ()

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
        return primary if named is None else self._configured(named)

    def _configured(self, named: Found) -> Resolved:
        try:
            return self.resolved(named.value)
        except Misuse as error:
            raise error.said_of(f"the id comes from {named.place}") if error.id == "unknown-model" else error from None

    @property
    def effort(self) -> Effort:
        """See `Effort`."""
        explicit = self._settings.get("effort")
        if explicit is not None or "_configuration" not in vars(self):
            return Effort(explicit)
        return Effort(None, self._configuration.value("effort"))


_said = set[str]()


def _say_once(connection: Connection) -> None:
    """That nothing is known of a model, once in a process."""
    route = connection.route
    if row_of(route.model, connection.rows).prefix or route.id in _said:
        return
    _said.add(route.id)
    log.info(
        "nothing is known of the model %s: no effort, sampling or window is assumed; a row [models.%r] in routing.toml says it",
        route.id,
        route.id,
    )
