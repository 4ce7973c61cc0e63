"""How the suite gets at a model adapter: what an author writes once."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

from geode.domain.content import Opaque, Owner
from geode.domain.json_value import dump_json
from geode.domain.request import Capabilities
from geode.domain.script import ReplyStop, Step
from geode.entrypoints.compliance.playing import Playing

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Withheld:
    """What never reaches an adapter whose model is asked through a program, which tells of the server in its own words.

    `calls`: tool calls. `statuses`: what refusals had these. `words`: what the server said beside these statuses.
    `hints`: what it said about trying again. `usage`: what replies took that ended so.
    """

    calls: bool = False
    statuses: frozenset[int] = frozenset()
    words: frozenset[int] = frozenset()
    hints: bool = False
    usage: frozenset[ReplyStop] = frozenset()


class ModelHarness(ABC):
    """An adapter that plays a script, and what it declares.

    `capabilities` is what the adapter's own must be. `model` is the model that is asked, `reasoner` one that takes an
    effort, where that one does not. `streams`: it hands on
    deltas while the reply comes. `thinks`: its wire carries reasoning that has to go back to its owner. `stops` are
    the words for the end of a reply that its wire has. What is not declared must not be there: an unexpected
    success fails. `plan_ends_at_429`: what pays is a plan, and a 429 without a hint says that it is used up.
    `withheld` is what the adapter cannot know.
    """

    capabilities: ClassVar[Capabilities]
    model: ClassVar[str] = "model-1"
    reasoner: ClassVar[str] = ""
    streams: ClassVar[bool] = False
    thinks: ClassVar[bool] = False
    plan_ends_at_429: ClassVar[bool] = False
    withheld: ClassVar[Withheld] = Withheld()
    stops: ClassVar[frozenset[ReplyStop]] = frozenset({"end", "tool_calls", "max_tokens", "refusal"})

    @abstractmethod
    def playing(self, *script: Step, pace_seconds: float = 0.0) -> AbstractAsyncContextManager[Playing]:
        """The adapter at work; `pace_seconds` pass between the pieces of a stream."""


class SendingHarness(ModelHarness):
    """An adapter that sends something: `view` reads it.

    Rows of a view, in the order in which they stand in the request:

    | row | is |
    |---|---|
    | `{"who": "human", "say": text}` | something the user said, or a hint |
    | `{"who": "bot", "say": text, "calls": [{"id", "fn", "args"}, …]}` | what the model said, what it called, or both |
    | `{"who": "tool", "id": id, "say": text}` | one result; with `"failed": bool` where the wire has a flag for it |

    The system text is no row.
    """

    @abstractmethod
    def view(self, body: Mapping[str, Any]) -> Sequence[Row]:
        """What the request says."""

    def choice(self, body: Mapping[str, Any]) -> Any:
        """The tool choice in the request, in any spelling that geode accepts; None where there is none.

        Where it is not overridden, the suite compares whole requests instead.
        """
        return None

    @property
    def shows_choice(self) -> bool:
        return type(self).choice is not SendingHarness.choice

    def read(self, sent: bytes) -> dict[str, Any]:
        """The request as an object."""
        body: dict[str, Any] = json.loads(sent)
        return body

    def opaque(self, owner: Owner, number: int) -> Opaque:
        """An item such as this provider makes, with `number` in a text of it, which tells it from others."""
        return Opaque(owner, "thinking", dump_json({"text": f"thought {number}", "signature": f"signature-{number}"}))

    def objections(self, body: Mapping[str, Any]) -> Sequence[str]:
        """What somebody who knows the real server has against the request."""
        return ()

    def judge(self, playing: Playing) -> None:
        """Nothing that was sent in a test may be refused by the real server."""
        if playing.judged:
            found = [one for sent in playing.bodies() for one in self.objections(self.read(sent))]
            assert found == [], found
