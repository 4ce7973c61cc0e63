"""Reading JSON from the network."""

from __future__ import annotations

import json
import math
from typing import Any, cast

import jiter


def read_json(data: bytes) -> Any:
    """The JSON value in `data`; ValueError if it is none.

    jiter is fast and refuses a BOM, lone surrogates and deep nesting, which servers do send; those
    are read by the standard library instead. NaN and Infinity, which are no JSON, are refused: what
    holds them could never be sent back.
    """
    try:
        return jiter.from_json(data, allow_inf_nan=False)
    except ValueError:
        try:
            return json.loads(data.removeprefix(b"\xef\xbb\xbf"), parse_float=_finite, parse_constant=_finite)
        except RecursionError:
            raise ValueError("JSON is nested too deeply") from None


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not JSON")
    return value


def read_object(data: bytes) -> dict[str, Any] | None:
    """The JSON object in `data`, or None if it is anything else."""
    try:
        value = read_json(data)
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
