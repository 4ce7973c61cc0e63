"""A script as JSON, for files and command lines."""

from __future__ import annotations

from typing import Final

STEP_WORDS: Final = ("says", "thinks", "calls", "refuses", "pauses", "cut", "fails", "hangs", "drops", "malformed")

_ALONE: Final = ("fails", "hangs", "drops", "malformed")
