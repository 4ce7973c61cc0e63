"""The journal in memory keeps the contract of every journal."""

from geode.entrypoints.compliance.journal import JournalStoreContract
from geode.entrypoints.compliance.shipped import MemoryJournalHarness


class TestMemoryJournal(JournalStoreContract):
    harness = MemoryJournalHarness
