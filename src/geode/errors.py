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
)

__all__ = [
    "AuthenticationError",
    "BillingError",
    "CodecError",
    "GeodeError",
    "IllegalInput",
    "Misuse",
    "ModelCallError",
    "RequestRefused",
]
