"""What an adapter from another package is made with, and what looking one up can come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from geode.domain.errors import GeodeError
from geode.domain.models import ModelRow
from geode.ports.model import ModelAdapter


@dataclass(frozen=True, slots=True)
class AdapterContext:
    """What geode gives to whoever makes an adapter.

    `name` is the name it has to have. `http` is an `httpx2.AsyncClient` that stays geode's. `models` are the rows of
    `routing.toml` that hold for its models: what its `Capabilities.models` should be.
    """

    name: str
    http: Any
    models: tuple[ModelRow, ...] = ()


# Of the context, or of nothing.
AdapterFactory: TypeAlias = Callable[[AdapterContext], ModelAdapter] | Callable[[], ModelAdapter]


class AdapterError(GeodeError):
    """The registry cannot do what it was asked for. The message says what may be done."""


class AdapterNotFoundError(AdapterError, LookupError):
    """No adapter of that name, or of that provider and source, is registered in this process."""


class AdapterAlreadyRegisteredError(AdapterError):
    """Two adapters would have one name, or serve one provider by one source."""


class AdapterNameMismatchError(AdapterError):
    """A factory made an adapter of another name than it was registered under."""
