"""What geode raises, and the exceptions that a `Failed` outcome carries in `error`."""

from geode.domain.errors import (
    AuthenticationError,
    BillingError,
    CodecError,
    GeodeError,
    IllegalInput,
    Misuse,
    ModelCallError,
    RequestRefused,
    StreamInterrupted,
)
from geode.ports.adapters import (
    AdapterAlreadyRegisteredError,
    AdapterError,
    AdapterNameMismatchError,
    AdapterNotFoundError,
)
from geode.ports.conversations import StaleConversation, UnknownConversation
from geode.ports.credentials import CredentialError
from geode.ports.journal import JournalError
from geode.ports.tool_sources import ToolSourceError

__all__ = [
    "AdapterAlreadyRegisteredError",
    "AdapterError",
    "AdapterNameMismatchError",
    "AdapterNotFoundError",
    "AuthenticationError",
    "BillingError",
    "CodecError",
    "CredentialError",
    "GeodeError",
    "IllegalInput",
    "JournalError",
    "Misuse",
    "ModelCallError",
    "RequestRefused",
    "StaleConversation",
    "StreamInterrupted",
    "ToolSourceError",
    "UnknownConversation",
]
