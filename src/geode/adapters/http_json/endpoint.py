"""Where a provider is reached, and with what."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base address, the place it was taken from (for messages), and the key that is sent there."""

    base_url: str
    source: str
    api_key: str = field(repr=False)
