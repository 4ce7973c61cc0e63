"""Calls beside a run, over models of your own choice: with the retries of the policy, and a chain that you name.

`geode.Runtime.ask` does it for one model of the configuration.
"""

from geode.adapters.clock_system import SystemClock
from geode.application.askable import Askable, askable
from geode.application.auxiliary import Ask, Served, call_with_failover, run_with_retry_policy, text_call
from geode.application.compacting import Compaction
from geode.application.structured import AnswerError, Declined, DoesNotFit, Fits, Truncated, TypedAnswer

__all__ = [
    "AnswerError",
    "Ask",
    "Askable",
    "Compaction",
    "Declined",
    "DoesNotFit",
    "Fits",
    "Served",
    "SystemClock",
    "Truncated",
    "TypedAnswer",
    "askable",
    "call_with_failover",
    "run_with_retry_policy",
    "text_call",
]
