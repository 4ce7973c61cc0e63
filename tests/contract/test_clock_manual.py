"""The clock that stands still keeps the contract of every clock."""

from geode.entrypoints.compliance.clock import ClockContract
from geode.entrypoints.compliance.shipped import ManualClockHarness


class TestManualClock(ClockContract):
    harness = ManualClockHarness
