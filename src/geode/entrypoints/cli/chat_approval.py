"""Who answers for the tools of a chat: as `--approve` says, and from the next call on as `/approve` says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Final

from geode.domain.approval import Decision, Deny, Later, Question
from geode.entrypoints.approvers import ApproveAll, ApproveNamed, AskAboutOthers
from geode.entrypoints.cli.approval import approver_for
from geode.entrypoints.cli.tools import GivenTools
from geode.ports.approval import Approver
from geode.ports.tools import Tool

_DENIED: Final = "the operator of this chat allows no call of this tool"


class ChatApproval:
    """Answers by the words that were said last. What they open is closed with `until_the_end`.

    `over`: the person who was asked wants to leave; every answer is put off from then on.
    """

    def __init__(self, which: str | None, given: GivenTools, *, attended: bool, until_the_end: ExitStack) -> None:
        self._tools, self._sources = given.tools, given.source_names
        self._attended, self._until_the_end = attended, until_the_end
        self.over = False
        self.say(which)

    def say(self, which: str | None) -> None:
        """Have these words hold: the same as those of `--approve`. Misuse for others, and then nothing changes."""
        self._approver: Approver | None = approver_for(
            which,
            self._tools,
            sources=self._sources,
            attended=self._attended,
            until_the_end=self._until_the_end,
            command="geode chat",
            ended=self._leave,
        )

    def _leave(self) -> Decision:
        self.over = True
        return Later()

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        if self.over:
            return {asked.call.id: Later() for asked in question.calls}
        if self._approver is None:
            return {asked.call.id: Deny(_DENIED) for asked in question.calls}
        return await self._approver.decide(question)

    def lines(self) -> Iterator[str]:
        """Each tool, its tier, and what becomes of its calls."""
        wide = max((len(tool.spec.name) for tool in self._tools), default=0)
        for tool in self._tools:
            yield f"{tool.spec.name.ljust(wide)}  {tool.tier.name.ljust(11)}  {self._fate(tool)}"
        for name in self._sources:
            yield f"and those of {name}, which are known when it is open: geode mcp check {name}"
        if not self._tools and not self._sources:
            yield "no tools: geode chat --tools MODULE:NAME"

    def _fate(self, tool: Tool) -> str:
        if not tool.tier.needs_approval:
            return "runs"
        match self._approver:
            case ApproveAll():
                return "runs: all are approved"
            case ApproveNamed() | AskAboutOthers() as named if named.allows(tool.spec.name):
                return "runs: it is approved"
            case AskAboutOthers():
                return "you are asked"
            case _:
                return f"denied: /approve {tool.spec.name} allows it"
