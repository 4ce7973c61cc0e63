"""How much harm a tool can do, and what that asks of a round (spec section 4)."""

from __future__ import annotations

from enum import Enum
from typing import Literal, TypeAlias

from geode.domain.errors import Misuse

TierName: TypeAlias = Literal["safe", "mcp_trusted", "expensive", "write", "dangerous"]


class SafetyTier(Enum):
    """The five tiers. A tool that declares none is DANGEROUS."""

    SAFE = "safe"
    MCP_TRUSTED = "mcp_trusted"
    EXPENSIVE = "expensive"
    WRITE = "write"
    DANGEROUS = "dangerous"

    @property
    def needs_approval(self) -> bool:
        """Whether a person has to allow a call: everything above MCP_TRUSTED."""
        return self not in (SafetyTier.SAFE, SafetyTier.MCP_TRUSTED)

    @property
    def runs_alone(self) -> bool:
        """Whether a call is a barrier in its round: WRITE and DANGEROUS."""
        return self in (SafetyTier.WRITE, SafetyTier.DANGEROUS)


def tier_of(value: SafetyTier | str | None) -> SafetyTier:
    """The tier for a declared word; None is DANGEROUS, an unknown word is Misuse."""
    if value is None:
        return SafetyTier.DANGEROUS
    if isinstance(value, SafetyTier):
        return value
    try:
        return SafetyTier(value.lower())
    except ValueError:
        words = ", ".join(tier.value for tier in SafetyTier)
        raise Misuse("unknown-tier", f"tier {value!r} is unknown. Accepted: {words}") from None
