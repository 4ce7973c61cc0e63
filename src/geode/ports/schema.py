"""Checking arguments against a JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

Check: TypeAlias = Callable[[Mapping[str, Any]], tuple[str, ...]]


@runtime_checkable
class SchemaValidator(Protocol):
    """`compile` gives a check that returns all errors, each `POINTER: what is wrong`, or nothing.

    No remote reference is ever fetched. A schema that is none raises ValueError that says where.
    The loop compiles once per tool.
    """

    def compile(self, schema: Mapping[str, Any]) -> Check: ...
