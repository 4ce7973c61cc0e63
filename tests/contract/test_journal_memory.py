"""The journal in memory keeps the contract of every journal."""

from geode.entrypoints.compliance.journal import JournalContract
from geode.entrypoints.compliance.shipped import MemoryJournalHarness


class TestMemoryJournal(JournalContract):
    harness = MemoryJournalHarness
