"""`geode run --approve ask`: a person at a terminal sees what would run, and answers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from geode.domain.approval import Approve, Asked, Decision, Deny, Later, Question
from geode.domain.content import ToolUseBlock
from geode.domain.json_value import clean_json
from geode.entrypoints.cli.terminal import Terminal, shown_json
from geode.entrypoints.cli.words import harmless

# What of a call is shown before somebody asks for all of it.
_LINES: Final = 40
_WIDTH: Final = 200

_ONE: Final = "[y]es  [n]o (n WHY tells the model)  [a]lways this tool  [s]ame call always  [e]dit  [l]ater"
_ALL: Final = "[y]es to all  [n]o to all (n WHY)  [o]ne by one  [l]ater"
_VIEW: Final = "  [v]iew all"
_GONE: Final = "nobody answered: the operator's terminal was closed"


class AskTerminal:
    """Answers questions by asking `terminal`. `errors` says what is wrong with the arguments of an edited call.

    `ended` gives the answer for what is open when nobody will type any more, as after Ctrl-D.
    """

    def __init__(
        self,
        terminal: Terminal,
        errors: Callable[[ToolUseBlock], tuple[str, ...]],
        ended: Callable[[], Decision] = lambda: Deny(_GONE),
    ) -> None:
        self._terminal, self._errors, self._ended = terminal, errors, ended

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        calls = question.calls
        if len(calls) > 1:
            together = await self._together(calls)
            if together is not None:
                return dict.fromkeys((asked.call.id for asked in calls), together)
        decisions: dict[str, Decision] = {}
        allowed: set[str] = set()
        ended: Decision | None = None
        for number, asked in enumerate(calls, 1):
            name = asked.call.name
            of = f" ({number} of {len(calls)})" if len(calls) > 1 else ""
            decision = Approve() if name in allowed else ended or await self._one(asked, of)
            if decision is None:
                decision = ended = self._nobody()
            if isinstance(decision, Approve) and decision.always == "tool":
                allowed.add(name)
            decisions[asked.call.id] = decision
        return decisions

    async def _together(self, calls: tuple[Asked, ...]) -> Decision | None:
        """The one answer for all calls, or None where each is to have its own."""
        self._terminal.show(f"\ngeode asks whether these {len(calls)} calls may run:\n")
        cut = [self._show(asked.call, asked.tier.name, whole=False) for asked in calls]
        while True:
            word, rest = await self._answer(_ALL + (_VIEW if any(cut) else ""))
            match word:
                case "y" | "yes":
                    return Approve()
                case "n" | "no":
                    return Deny(rest) if rest else Deny()
                case "l" | "later":
                    return Later()
                case "o" | "one":
                    return None
                case "v" | "view":
                    for asked in calls:
                        self._show(asked.call, asked.tier.name, whole=True)
                case None:
                    return self._nobody()
                case _:
                    self._unknown(word)

    async def _one(self, asked: Asked, of: str) -> Decision | None:
        """The answer for this call; None where nobody will give one."""
        call, tier = asked.call, asked.tier.name
        self._terminal.show(f"\ngeode asks whether this call may run{of}:\n")
        cut = self._show(call, tier, whole=False)
        while True:
            word, rest = await self._answer(_ONE + (_VIEW if cut else ""))
            edited = None if call is asked.call else call.input
            match word:
                case "y" | "yes":
                    return Approve(edited)
                case "a" | "always":
                    return Approve(edited, always="tool")
                case "s" | "same":
                    return Approve(edited, always="arguments")
                case "n" | "no":
                    return Deny(rest) if rest else Deny()
                case "l" | "later":
                    return Later()
                case "e" | "edit":
                    call = await self._edited(call)
                    cut = self._show(call, tier, whole=False)
                case "v" | "view":
                    self._show(call, tier, whole=True)
                case None:
                    return None
                case _:
                    self._unknown(word)

    def _nobody(self) -> Decision:
        with contextlib.suppress(OSError):  # the terminal may be gone
            self._terminal.show("\n")
        return self._ended()

    async def _answer(self, choices: str) -> tuple[str | None, str]:
        typed = await self._terminal.line(f"{choices}\n> ")
        if typed is None:
            return None, ""
        word, _, rest = typed.strip().partition(" ")
        return word.lower(), rest.strip()

    def _unknown(self, word: str) -> None:
        self._terminal.show(f"{harmless(word)} is no answer; a letter from the list is\n" if word else "")

    async def _edited(self, call: ToolUseBlock) -> ToolUseBlock:
        """The call with the arguments that the person wants; as it was where they are none."""
        text = await self._terminal.edited(shown_json(call.input) + "\n")
        if text is None:
            text = await self._terminal.line("the arguments as JSON on one line (empty: as they are)\n> ")
        if not (text or "").strip():
            return call
        changed, wrong = self._parsed(call, text or "")
        for line in wrong:
            self._terminal.show(f"not taken: {harmless(line)}\n")
        return call if wrong else changed

    def _parsed(self, call: ToolUseBlock, text: str) -> tuple[ToolUseBlock, tuple[str, ...]]:
        try:
            arguments: Any = clean_json(json.loads(text))
        except (ValueError, RecursionError) as error:
            return call, (f"that is not JSON: {error}",)
        if not isinstance(arguments, dict):
            return call, ("arguments are a JSON object: {…}",)
        changed = replace(call, input=arguments, unparsed=None)
        return changed, self._errors(changed)

    def _show(self, call: ToolUseBlock, tier: str, *, whole: bool) -> bool:
        """Show the call; whether some of it was left out."""
        lines = shown_json(call.input).split("\n")
        kept = lines if whole else [_bounded(line) for line in lines[:_LINES]]
        left = len(lines) - len(kept)
        more = [f"… {left} more lines"] if left else []
        shown = "\n".join(f"    {line}" for line in (*kept, *more))
        self._terminal.show(f"  {harmless(call.name)}  {tier}\n{shown}\n")
        return kept != lines


def _bounded(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]}… {len(line) - _WIDTH} more characters"
