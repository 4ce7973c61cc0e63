"""GeodeContainer: geode as a part of a host's dependency-injector container."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias, cast

from dependency_injector import containers
from dependency_injector import providers as provide

from geode.adapters.clock_system import SystemClock
from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.domain.policy import Policy
from geode.entrypoints.runtime import Runtime, Session, session
from geode.entrypoints.settings import Settings
from geode.ports.clock import Clock
from geode.ports.schema import SchemaValidator

_Setting: TypeAlias = provide.Dependency[Any]


def _filled(given: dict[str, Any]) -> Settings:
    """What the host filled in; what it left out keeps the default of `geode.session`."""
    return cast("Settings", {name: value for name, value in given.items() if value is not None})


def _session(**given: Any) -> Session:
    return session(**_filled(given))


def _runtime(**given: Any) -> Runtime:
    return Runtime(**_filled(given))


def _port(protocol: Any) -> type:
    """A runtime-checkable protocol, for `instance_of`, which type checkers allow for concrete classes alone."""
    return cast("type", protocol)


class GeodeContainer(containers.DeclarativeContainer):
    """Fill in what the host has, override it in tests.

    Every dependency is the setting of that name of `geode.session` (`model_providers` is its `providers`,
    a word that containers have taken); None stands for the default.
    `session` makes a session: inject `session.provider` into a class that takes a
    `geode.ports.SessionFactory`. `runtime` is one for the whole container; the host opens it.
    """

    model: _Setting = provide.Dependency(default=provide.Object(None))
    fallbacks: _Setting = provide.Dependency(default=())
    tools: _Setting = provide.Dependency(default=())
    model_providers: _Setting = provide.Dependency(default=())
    approve: _Setting = provide.Dependency(default=provide.Object(None))
    observe: _Setting = provide.Dependency(default=())
    hooks: _Setting = provide.Dependency(default=())
    policy: _Setting = provide.Dependency(instance_of=Policy, default=Policy())
    system: _Setting = provide.Dependency(instance_of=str, default="")
    deps: _Setting = provide.Dependency(default=provide.Object(None))
    effort: _Setting = provide.Dependency(default=provide.Object(None))
    temperature: _Setting = provide.Dependency(default=provide.Object(None))
    thinking: _Setting = provide.Dependency(default=provide.Object(None))
    http: _Setting = provide.Dependency(default=provide.Object(None))
    journal: _Setting = provide.Dependency(default=provide.Object(None))
    results: _Setting = provide.Dependency(default=provide.Object(None))
    count_tokens: _Setting = provide.Dependency(default=provide.Object(None))
    renderers: _Setting = provide.Dependency(default=provide.Object(None))
    resizer: _Setting = provide.Dependency(default=provide.Object(None))
    clock: _Setting = provide.Dependency(instance_of=_port(Clock), default=SystemClock())
    validator: _Setting = provide.Dependency(instance_of=_port(SchemaValidator), default=JsonschemaValidator())

    _settings: ClassVar[dict[str, _Setting]] = {
        "model": model,
        "fallbacks": fallbacks,
        "tools": tools,
        "providers": model_providers,
        "approve": approve,
        "observe": observe,
        "hooks": hooks,
        "policy": policy,
        "system": system,
        "deps": deps,
        "effort": effort,
        "temperature": temperature,
        "thinking": thinking,
        "http": http,
        "journal": journal,
        "results": results,
        "count_tokens": count_tokens,
        "renderers": renderers,
        "resizer": resizer,
        "clock": clock,
        "validator": validator,
    }
    session = provide.Factory(_session, **_settings)
    runtime = provide.ThreadSafeSingleton(_runtime, **_settings)
