"""What the domain needs from outside: protocols, with their obligations in the docstrings.

The names below are all that an author of an adapter, or of another port, needs.
"""

from geode.domain.approval import Asked, Decision, Question
from geode.domain.arguments import sent_input, tool_use
from geode.domain.call_ids import sent_id
from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.content import (
    Document,
    DocumentUrl,
    Image,
    ImageUrl,
    Media,
    Opaque,
    Owner,
    Part,
    Text,
    ToolResult,
    ToolUseBlock,
)
from geode.domain.conversation import Conversation
from geode.domain.failures import CallFailure, RetryHint
from geode.domain.pictures import PictureLimits
from geode.domain.quota import Quota, read_quotas
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.request import AdapterCallRequest, Capabilities, Limits
from geode.domain.retry import read_retry_hint
from geode.domain.thinking import AdaptiveThinking, ThinkingBudget
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, Hint, ToolResultsTurn, Turn, UserTurn
from geode.domain.usage import Usage
from geode.domain.wire_names import sent_name
from geode.ports.approval import Approver
from geode.ports.clock import Clock
from geode.ports.conversations import ConversationStore, Kept, Listed
from geode.ports.credentials import Credential, CredentialError, CredentialUnavailable
from geode.ports.events import Observer
from geode.ports.hooks import Hooks, Veto
from geode.ports.images import ImageResizer
from geode.ports.journal import Journal, JournalStore
from geode.ports.model import CallPart, Delta, Emit, ModelAdapter, TextPart, ThinkingPart
from geode.ports.results import Origin, Piece, ResultStore, StoredResults
from geode.ports.schema import SchemaValidator
from geode.ports.session import Loop, SessionFactory
from geode.ports.tool_sources import Listing, OpenSource, ToolSource, ToolSourceError
from geode.ports.tools import OutcomeUnknown, Tool, ToolContext, ToolError

__all__ = [
    "AdapterCallRequest",
    "AdapterCallResult",
    "AdaptiveThinking",
    "Approver",
    "Asked",
    "AssistantTurn",
    "Auto",
    "CallFailure",
    "CallPart",
    "Capabilities",
    "Clock",
    "Conversation",
    "ConversationStore",
    "Credential",
    "CredentialError",
    "CredentialUnavailable",
    "Decision",
    "Delta",
    "Document",
    "DocumentUrl",
    "Emit",
    "Hint",
    "Hooks",
    "Image",
    "ImageResizer",
    "ImageUrl",
    "Journal",
    "JournalStore",
    "Kept",
    "Limits",
    "Listed",
    "Listing",
    "Loop",
    "Media",
    "ModelAdapter",
    "Named",
    "NoTools",
    "Observer",
    "Opaque",
    "OpenSource",
    "Origin",
    "OutcomeUnknown",
    "Owner",
    "Part",
    "PictureLimits",
    "Piece",
    "Question",
    "Quota",
    "Required",
    "ResultStore",
    "RetryHint",
    "SchemaValidator",
    "SessionFactory",
    "Stop",
    "StoredResults",
    "Text",
    "TextPart",
    "ThinkingBudget",
    "ThinkingPart",
    "Tool",
    "ToolChoice",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "ToolResultsTurn",
    "ToolSource",
    "ToolSourceError",
    "ToolSpec",
    "ToolUseBlock",
    "Turn",
    "Usage",
    "UserTurn",
    "Veto",
    "read_quotas",
    "read_retry_hint",
    "sent_id",
    "sent_input",
    "sent_name",
    "tool_use",
]
