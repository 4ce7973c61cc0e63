"""From `--model`, `--base-url`, `--wire` and `--key-from` to a model id and the provider that serves it."""

from __future__ import annotations

import importlib
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace

from geode.domain.addresses import address_problem
from geode.domain.errors import Misuse
from geode.domain.provider import Provider
from geode.domain.targets import Target, WireName
from geode.entrypoints.config import configuration, no_model
from geode.entrypoints.routes.connections import SDK_OF
from geode.entrypoints.routes.registry import bootstrap_builtins
from geode.entrypoints.routes.session_models import default


def route(arguments: Namespace) -> tuple[str | None, tuple[Target, ...]]:
    """The model (None: whatever the session takes without one) and the providers that its id needs.

    Without `--base-url` the session finds out by itself what is configured.

    `--base-url` alone moves the model's own provider, its key included; with `--wire` the address is a
    server of its own, which is asked for the model id as it stands.
    """
    model: str | None = arguments.model or None
    base_url: str | None = arguments.base_url
    wire: WireName | None = arguments.wire
    if base_url is None:
        _refuse_alone("--wire", wire, "--base-url URL")
        _refuse_alone("--key-from", arguments.key_from, "--base-url URL --wire WIRE")
        return model, ()
    model = model or configuration().value("model")
    if model is None:
        raise no_model()
    if wire is None:
        _refuse_alone("--key-from", arguments.key_from, "--wire WIRE")
        return _moved(model, base_url)
    key = f"env:{arguments.key_from}" if arguments.key_from else None
    own = Provider(f"{wire}-server", wire, base_url, key, origin="--base-url")
    return f"{own.name}/{model}", (own.target,)


def load_sdk(model: str | None, providers: Sequence[Target]) -> None:
    """Import the SDK that the model needs, here and now.

    A session imports it in a thread, and that takes seconds in which Ctrl-C would have to wait.
    """
    config = configuration()
    named = model or default.value or config.value("model")
    if isinstance(named, str):
        transport = bootstrap_builtins().route(named, tuple(providers), config.sources).target.transport
        if transport is not None:
            importlib.import_module(SDK_OF[transport.wire])


def _moved(model: str, base_url: str) -> tuple[str, tuple[Target, ...]]:
    route = bootstrap_builtins().route(model)
    target = route.target
    if target.transport is None:
        raise Misuse("option-alone", f"--base-url moves nothing for {target.name}, which has an address of its own")
    if problem := address_problem(base_url, "--base-url"):
        raise Misuse("provider", problem)
    moved = replace(target, transport=replace(target.transport, base_url=base_url, origin="--base-url", moved_by=""))
    return f"{moved.name}/{route.model}", (moved,)


def _refuse_alone(option: str, value: str | None, needed: str) -> None:
    if value is not None:
        raise Misuse("option-alone", f"{option} says nothing without {needed}")
