"""All that a model adapter keeps, in one class."""

from __future__ import annotations

from geode.entrypoints.compliance.cancellation import CancellationContract
from geode.entrypoints.compliance.capabilities import CapabilityContract
from geode.entrypoints.compliance.facts import FactsContract
from geode.entrypoints.compliance.faults import FaultContract
from geode.entrypoints.compliance.prompt import PromptContract
from geode.entrypoints.compliance.replay import ReplayContract
from geode.entrypoints.compliance.replies import ReplyContract
from geode.entrypoints.compliance.streaming import StreamingContract
from geode.entrypoints.compliance.tool_choice import ToolChoiceContract
from geode.entrypoints.compliance.typed_answers import ResponseSchemaContract


class ModelDoubleContract(
    ReplyContract, FaultContract, FactsContract, StreamingContract, CancellationContract, ResponseSchemaContract
):
    """For a model inside the process, which sends nothing that could be looked at: a double, a model in memory."""


class AdapterContract(
    ToolChoiceContract,
    ReplayContract,
    PromptContract,
    CapabilityContract,
    ReplyContract,
    FaultContract,
    FactsContract,
    StreamingContract,
    CancellationContract,
    ResponseSchemaContract,
):
    """Every contract of a model adapter."""
