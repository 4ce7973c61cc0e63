"""A person's answers, and what was allowed for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from geode.domain.content import ToolUseBlock
from geode.domain.json_value import same_json
from geode.domain.tiers import SafetyTier


@dataclass(frozen=True, slots=True)
class Approve:
    """Run it; with `input`, run it with these arguments instead.

    `always="tool"` allows every later call of the tool in this run, `always="arguments"` those with
    equal arguments.
    """

    input: Mapping[str, Any] | None = None
    always: Literal["tool", "arguments"] | None = None


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not run it; the model is told `why`."""

    why: str = "the operator denied this call"


@dataclass(frozen=True, slots=True)
class Later:
    """No answer yet: the rest of the stage finishes, then the run is suspended."""


Decision: TypeAlias = Approve | Deny | Later


@dataclass(frozen=True, slots=True)
class Grant:
    """An approval in advance for one tool; `arguments` None is for any."""

    tool: str
    arguments: Mapping[str, Any] | None = None

    def covers(self, call: ToolUseBlock) -> bool:
        return call.name == self.tool and (self.arguments is None or same_json(self.arguments, call.input))


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
