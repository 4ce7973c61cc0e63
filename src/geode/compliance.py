"""The suite that proves an adapter of yours: see `docs/writing-an-adapter.md`.

Needs the extra `compliance`: pip install 'geode[compliance]'.
"""

from geode.entrypoints.compliance.adapter import AdapterContract, ModelDoubleContract
from geode.entrypoints.compliance.approval import ApproverContract, ApproverHarness
from geode.entrypoints.compliance.cancellation import CancellationContract
from geode.entrypoints.compliance.capabilities import CapabilityContract
from geode.entrypoints.compliance.clock import ClockContract, ClockHarness
from geode.entrypoints.compliance.conversations import ConversationStoreContract, ConversationStoreHarness
from geode.entrypoints.compliance.credentials import CredentialContract, CredentialHarness
from geode.entrypoints.compliance.facts import FactsContract
from geode.entrypoints.compliance.faults import FaultContract
from geode.entrypoints.compliance.harness import ModelHarness, SendingHarness, Withheld
from geode.entrypoints.compliance.http_harness import HttpHarness
from geode.entrypoints.compliance.images import ImageResizerContract, ImageResizerHarness
from geode.entrypoints.compliance.journal import JournalContract, JournalHarness, JournalStoreContract, JournalStoreHarness
from geode.entrypoints.compliance.prompt import PromptContract
from geode.entrypoints.compliance.replay import ReplayContract
from geode.entrypoints.compliance.replies import ReplyContract
from geode.entrypoints.compliance.results import (
    DurableResultStoreContract,
    DurableResultStoreHarness,
    ResultStoreContract,
    ResultStoreHarness,
)
from geode.entrypoints.compliance.schema import SchemaContract, SchemaHarness
from geode.entrypoints.compliance.streaming import StreamingContract
from geode.entrypoints.compliance.tokens import TokenCounterContract, TokenCounterHarness
from geode.entrypoints.compliance.tool_choice import ToolChoiceContract
from geode.entrypoints.compliance.tool_sources import ToolSourceContract, ToolSourceHarness
from geode.entrypoints.compliance.tools import ToolContract, ToolHarness
from geode.entrypoints.compliance.typed_answers import ResponseSchemaContract

__all__ = [
    "AdapterContract",
    "ApproverContract",
    "ApproverHarness",
    "CancellationContract",
    "CapabilityContract",
    "ClockContract",
    "ClockHarness",
    "ConversationStoreContract",
    "ConversationStoreHarness",
    "CredentialContract",
    "CredentialHarness",
    "DurableResultStoreContract",
    "DurableResultStoreHarness",
    "FactsContract",
    "FaultContract",
    "HttpHarness",
    "ImageResizerContract",
    "ImageResizerHarness",
    "JournalContract",
    "JournalHarness",
    "JournalStoreContract",
    "JournalStoreHarness",
    "ModelDoubleContract",
    "ModelHarness",
    "PromptContract",
    "ReplayContract",
    "ReplyContract",
    "ResponseSchemaContract",
    "ResultStoreContract",
    "ResultStoreHarness",
    "SchemaContract",
    "SchemaHarness",
    "SendingHarness",
    "StreamingContract",
    "TokenCounterContract",
    "TokenCounterHarness",
    "ToolChoiceContract",
    "ToolContract",
    "ToolHarness",
    "ToolSourceContract",
    "ToolSourceHarness",
    "Withheld",
]
