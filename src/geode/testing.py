"""For tests of applications: a scripted model, its steps, and no network."""

from geode.adapters.clock_manual import ManualClock
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.scripted.model import ScriptedModel, ScriptExhausted, ScriptUnused
from geode.domain.script import Called, calls, cut, drops, fails, hangs, malformed, pauses, refuses, says, thinks
from geode.entrypoints.testing import default_model, no_network

__all__ = [
    "Called",
    "ManualClock",
    "MemoryJournal",
    "ScriptExhausted",
    "ScriptUnused",
    "ScriptedModel",
    "calls",
    "cut",
    "default_model",
    "drops",
    "fails",
    "hangs",
    "malformed",
    "no_network",
    "pauses",
    "refuses",
    "says",
    "thinks",
]
