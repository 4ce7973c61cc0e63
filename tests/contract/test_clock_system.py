"""The system's clock keeps the contract of every clock."""

from geode.entrypoints.compliance.clock import ClockContract
from geode.entrypoints.compliance.shipped import SystemClockHarness


class TestSystemClock(ClockContract):
    harness = SystemClockHarness
