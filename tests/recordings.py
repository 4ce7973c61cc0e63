"""Recorded traffic of real servers: other people's data, kept outside the project. Tests over it are skipped without it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = Path(os.environ.get("GEODE_RECORDINGS") or ROOT.parent / "shared" / "recordings")
PROTOCOLS = ("messages", "responses", "chat")

needs_recordings = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recorded traffic at {FOLDER}; set GEODE_RECORDINGS")


def recorded(protocols: Sequence[str] = PROTOCOLS) -> Iterator[dict[str, Any]]:
    """Every exchange of these wires."""
    for protocol in protocols:
        with (FOLDER / f"{protocol}.jsonl").open() as lines:
            yield from map(json.loads, lines)
