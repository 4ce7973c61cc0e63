"""Harnesses by entry point: whoever installs an adapter can have it proven by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from geode.entrypoints.compliance.adapter import AdapterContract, ModelDoubleContract
from geode.entrypoints.compliance.approval import ApproverContract, ApproverHarness
from geode.entrypoints.compliance.clock import ClockContract, ClockHarness
from geode.entrypoints.compliance.contract import Contract
from geode.entrypoints.compliance.conversations import ConversationStoreContract, ConversationStoreHarness
from geode.entrypoints.compliance.credentials import CredentialContract, CredentialHarness
from geode.entrypoints.compliance.harness import ModelHarness, SendingHarness
from geode.entrypoints.compliance.images import ImageResizerContract, ImageResizerHarness
from geode.entrypoints.compliance.journal import JournalContract, JournalHarness, JournalStoreContract, JournalStoreHarness
from geode.entrypoints.compliance.results import (
    DurableResultStoreContract,
    DurableResultStoreHarness,
    ResultStoreContract,
    ResultStoreHarness,
)
from geode.entrypoints.compliance.schema import SchemaContract, SchemaHarness
from geode.entrypoints.compliance.tokens import TokenCounterContract, TokenCounterHarness
from geode.entrypoints.compliance.tool_sources import ToolSourceContract, ToolSourceHarness
from geode.entrypoints.compliance.tools import ToolContract, ToolHarness

GROUP: Final = "geode.contract_harnesses"
# Every kind of harness with the contract of its port; the first that fits is taken.
CONTRACTS: Final[tuple[tuple[type[Any], type[Contract]], ...]] = (
    (SendingHarness, AdapterContract),
    (ModelHarness, ModelDoubleContract),
    (ToolHarness, ToolContract),
    (ToolSourceHarness, ToolSourceContract),
    (ApproverHarness, ApproverContract),
    (ClockHarness, ClockContract),
    (SchemaHarness, SchemaContract),
    (ImageResizerHarness, ImageResizerContract),
    (JournalStoreHarness, JournalStoreContract),
    (JournalHarness, JournalContract),
    (ConversationStoreHarness, ConversationStoreContract),
    (DurableResultStoreHarness, DurableResultStoreContract),
    (ResultStoreHarness, ResultStoreContract),
    (TokenCounterHarness, TokenCounterContract),
    (CredentialHarness, CredentialContract),
)
# One for a process: pytest proves one adapter in a run.
_chosen: Final[list[type[Contract]]] = []


def registered() -> dict[str, EntryPoint]:
    """The entry points of installed packages, by name."""
    return {one.name: one for one in entry_points(group=GROUP)}


def known() -> str:
    """The registered names, for a message."""
    return ", ".join(sorted(registered())) or "none"


def choose(name: str) -> str:
    """Make the harness called `name` the one that is proven; why that cannot be, with the way out, or ""."""
    found = registered().get(name)
    if found is None:
        return f"no harness is called {name!r}. Registered in {GROUP} are: {known()}"
    try:
        harness = found.load()
    except (ImportError, AttributeError) as error:
        return f"the harness {name!r} cannot be loaded from {found.value}: {error}"
    contract = contract_of(harness)
    if contract is None:
        kinds = ", ".join(kind.__name__ for kind, _ in CONTRACTS)
        return f"{found.value} is no harness: it must be a class that inherits one of {kinds}"
    _chosen[:] = [type("TestRegistered", (contract,), {"harness": harness})]
    return ""


def contract_of(harness: object) -> type[Contract] | None:
    """The contract of the port that `harness` is for."""
    if not isinstance(harness, type):
        return None
    return next((contract for kind, contract in CONTRACTS if issubclass(harness, kind)), None)


def chosen_contract() -> type[Contract]:
    """The class of tests for what was chosen."""
    return _chosen[0]
