"""Recorded exchanges whose requests were taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.recordings import needs_recordings, recorded

__all__ = ["needs_recordings", "recorded", "taken"]


def taken() -> Iterator[dict[str, Any]]:
    """The exchanges whose request the server took; an error inside a stream is none of the request's."""
    return (one for one in recorded() if one["status"] == 200 and "event: error" not in one.get("sse", ""))
