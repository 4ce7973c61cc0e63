"""Recorded traffic: other people's data that stays outside the project."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[4]
FOLDER: Final = Path(os.environ.get("GEODE_RECORDINGS") or ROOT.parent / "shared" / "recordings")
needs_recordings = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recorded traffic at {FOLDER}; set GEODE_RECORDINGS")


def recorded() -> Iterator[dict[str, Any]]:
    """Every exchange with its id, wire, host, request, status and answer."""
    for path in sorted(FOLDER.glob("*.jsonl")):
        with path.open() as lines:
            yield from map(json.loads, lines)


def taken() -> Iterator[dict[str, Any]]:
    """The exchanges whose request the server took; an error inside a stream is none of the request's."""
    return (one for one in recorded() if one["status"] == 200 and "event: error" not in one.get("sse", ""))
