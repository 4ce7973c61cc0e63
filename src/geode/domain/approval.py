"""A person's answers, and what was allowed for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from geode.domain.content import ToolUseBlock
from geode.domain.errors import Misuse
from geode.domain.json_value import clean_json, clean_text, same_json
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts


@dataclass(frozen=True, slots=True)
class Approve:
    """Run it; with `input`, run it with these arguments instead.

    `always="tool"` allows every later call of the tool in this run, `always="arguments"` those with
    equal arguments. Misuse for anything else; `input` is copied.
    """

    input: Mapping[str, Any] | None = None
    always: Literal["tool", "arguments"] | None = None

    def __post_init__(self) -> None:
        if self.always not in (None, "tool", "arguments"):
            raise Misuse("answer-type", f'Approve(always=…) takes "tool" or "arguments", got {self.always!r}')
        object.__setattr__(self, "input", _edited(self.input))


def _edited(arguments: object) -> dict[str, Any] | None:
    """A copy of what a person put in, so that what is checked is what runs."""
    if arguments is None:
        return None
    if not isinstance(arguments, Mapping):
        raise Misuse("answer-type", f"Approve(input=…) takes an object of arguments, got {type(arguments).__name__}")
    try:
        copied: dict[str, Any] = clean_json(arguments)
    except ValueError as error:
        raise Misuse("answer-type", f"Approve(input=…) is not JSON: {error}") from None
    return copied


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not run it; the model is told `why`."""

    why: str = "the operator denied this call"

    def __post_init__(self) -> None:
        if not isinstance(self.why, str):
            raise Misuse("answer-type", f"Deny(…) takes a text for the model, got {type(self.why).__name__}")
        object.__setattr__(self, "why", clean_text(self.why))


@dataclass(frozen=True, slots=True)
class Later:
    """No answer yet: the rest of the stage finishes, then the run is suspended."""


Decision: TypeAlias = Approve | Deny | Later


@dataclass(frozen=True, slots=True)
class Grant:
    """An approval in advance for one tool; `arguments` None is for any.

    `of` is the tool as it was when a person allowed it: one that has changed since, or that another server has
    under this name, is asked about again. "": whatever tool has the name.
    """

    tool: str
    arguments: Mapping[str, Any] | None = None
    of: str = ""

    def covers(self, call: ToolUseBlock, facts: ToolFacts) -> bool:
        """Whether the call of a tool with these facts is allowed."""
        same = call.name == self.tool and self.of in ("", facts.asked_about)
        return same and (self.arguments is None or same_json(self.arguments, call.input))


@dataclass(frozen=True, slots=True)
class Asked:
    """One call in a question: what would run, how dangerous it is, and why it is asked."""

    call: ToolUseBlock
    tier: SafetyTier
    reason: str


@dataclass(frozen=True, slots=True)
class Question:
    """Calls that need an answer at the same time."""

    run_id: str
    calls: tuple[Asked, ...]
