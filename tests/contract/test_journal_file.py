"""The journal over files keeps the contract of every journal that gives runs back."""

from geode.entrypoints.compliance.journal import JournalStoreContract
from geode.entrypoints.compliance.shipped import FileJournalHarness


class TestFileJournal(JournalStoreContract):
    harness = FileJournalHarness
