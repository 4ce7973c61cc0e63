"""Whoever adds an adapter, a dialect or a registered name adds its file here, or this fails."""

from __future__ import annotations

import pkgutil
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import geode.adapters
from geode.domain.targets import BUILT_IN, SPOKEN_IN
from geode.entrypoints import approvers
from geode.entrypoints.compliance.contract import Contract
from geode.entrypoints.compliance.program_harness import ProgramHarness
from geode.entrypoints.compliance.registered import CONTRACTS, GROUP, contract_of
from geode.entrypoints.compliance.wire_harness import WireHarness

HERE = Path(__file__).parent
# Below the wires, or beside them, and no adapter of a port.
PLUMBING = {"child_processes", "environment", "http_json", "in_flight", "oauth_tokens", "patterns", "private_files"}
PLUMBING |= {"json_files", "secret_files", "text_blocks", "toml_edits", "toml_files"}
MODULES = sorted({found.name for found in pkgutil.iter_modules(geode.adapters.__path__)} - PLUMBING)
# What has a file for each program that it asks.
FILES = {"text_cli": ("claude_cli", "codex_cli")}
REGISTERED = {one.name: one for one in entry_points(group=GROUP) if one.value.startswith("geode.")}


def module(name: str) -> ModuleType:
    __import__(f"tests.contract.{name}")
    return sys.modules[f"tests.contract.{name}"]


def proven() -> list[type[Any]]:
    """The harnesses of every class of tests in this folder."""
    modules = (
        module(path.stem) for path in sorted(HERE.glob("test_*.py")) if path.stem not in ("test_broken", Path(__file__).stem)
    )
    found = (value for one in modules for name, value in vars(one).items() if name.startswith("Test"))
    return [vars(value)["harness"] for value in found if isinstance(value, type) and issubclass(value, Contract)]


@pytest.mark.parametrize("name", [file for name in MODULES for file in FILES.get(name, (name,))])
def test_every_adapter_has_its_file(name: str) -> None:
    classes = [value for key, value in vars(module(f"test_{name}")).items() if key.startswith("Test")]
    assert any(issubclass(value, Contract) for value in classes)


def test_every_wire_and_dialect_that_can_be_connected_is_proven() -> None:
    wanted = {(wire, dialect) for wire, dialects in SPOKEN_IN.items() for dialect in dialects}
    wires = (harness for harness in proven() if issubclass(harness, WireHarness))
    assert {(harness.wire, harness.dialect) for harness in wires} == wanted


def test_every_adapter_that_ships_is_proven() -> None:
    """By its own name, or by one that speaks the same, where nothing but the address and the key are its own."""
    wires = [harness for harness in proven() if issubclass(harness, WireHarness)]
    programs = {harness.name for harness in proven() if issubclass(harness, ProgramHarness)}
    assert programs == {name for name, target in BUILT_IN.items() if target.program is not None}
    assert programs | {harness.name for harness in wires} | {harness.stands_for for harness in wires} >= set(BUILT_IN)
    for harness in wires:
        shipped = BUILT_IN.get(harness.stands_for)
        if shipped is None:
            continue
        assert shipped.transport is not None
        assert (shipped.transport.wire, shipped.transport.dialect) == (harness.wire, harness.dialect)
        assert (shipped.transport.headers, shipped.credential.billing == "subscription") == ({}, False)


def test_every_approver_is_proven() -> None:
    wanted = {name for name, value in vars(approvers).items() if isinstance(value, type) and hasattr(value, "decide")}
    wanted -= {"Approver"}
    assert {f"{name}Harness" for name in wanted} <= {harness.__name__ for harness in proven()}


@pytest.mark.parametrize("name", REGISTERED)
def test_every_registered_harness_is_proven_here_too(name: str) -> None:
    harness = REGISTERED[name].load()
    assert contract_of(harness) is not None
    assert harness in proven()


def test_what_ships_is_registered() -> None:
    shipped = {harness for harness in proven() if ".compliance.shipped" in harness.__module__}
    assert shipped == {one.load() for one in REGISTERED.values()}


@pytest.mark.parametrize(("kind", "contract"), CONTRACTS, ids=lambda value: value.__name__)
def test_a_contract_asks_something(kind: type[Any], contract: type[Contract]) -> None:
    """Whatever else it is, an empty run is not green."""
    assert [name for name in dir(contract) if name.startswith("test_")]
    assert kind.__abstractmethods__
