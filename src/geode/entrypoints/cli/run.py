"""`geode run`: one run from the command line."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterator, Sequence

from geode.adapters.journal_file import FileJournal
from geode.application.agentic_loop import AgenticLoop
from geode.domain.errors import Misuse
from geode.domain.loop.outcome import Outcome, Suspended
from geode.domain.naming import closest
from geode.domain.policy import Policy
from geode.domain.routing import Provider
from geode.entrypoints.approvers import ApproveAll, ApproveNamed
from geode.entrypoints.cli.exit_codes import exit_code
from geode.entrypoints.cli.route import load_sdk, route
from geode.entrypoints.cli.shown import AnswerOnly, AsItComes, AsJsonLines, Shown
from geode.entrypoints.cli.tools import load_tools
from geode.entrypoints.runtime import Session, session
from geode.entrypoints.settings import Settings
from geode.ports.approval import Approver
from geode.ports.events import Event, Finished
from geode.ports.tools import Tool


def run_command(arguments: Namespace) -> int:
    """Run, show it, and give the exit code of the outcome.

    stdout is for the run alone: whatever tools print goes to stderr.
    """
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        prompt = _prompt(arguments.prompt)
        shown = AsJsonLines(out) if arguments.jsonl else AsItComes(out) if arguments.stream else AnswerOnly(out)
        told = Told(shown)
        journal = arguments.journal or os.environ.get("GEODE_JOURNAL")
        opening = opened(arguments, told, _policy(arguments), journal)

        def work(loop: AgenticLoop) -> Awaitable[Outcome]:
            return _streamed(loop, prompt, told) if arguments.stream else loop.run(prompt)

        outcome = asyncio.run(perform(work, opening, told))
        shown.end(outcome)
        tell_way_on(outcome, journal)
    return exit_code(outcome)


def opened(arguments: Namespace, told: Told, policy: Policy, journal: str | FileJournal | None) -> Session:
    """The session that the arguments ask for. Its SDK is imported."""
    model, providers = route(arguments)
    settings = _settings(arguments, providers)
    settings["policy"] = policy
    if model is not None:
        settings["model"] = model
    if journal:
        settings["journal"] = journal
    if not getattr(arguments, "stream", False):
        settings["observe"] = told
    with _no_advice_in_python():
        opening = session(**settings)
    load_sdk(model, providers)
    return opening


def tell_way_on(outcome: Outcome, journal: str | FileJournal | None) -> None:
    """How a run that waits for a person is gone on with, where it was kept."""
    if isinstance(outcome, Suspended) and journal:
        folder = journal if isinstance(journal, str) else journal.folder
        print(f"to go on: geode runs resume {outcome.run_id} --journal {folder} --approve …", file=sys.stderr)


@contextlib.contextmanager
def _no_advice_in_python() -> Iterator[None]:
    """What a session logs of tools that nobody can approve was said here, with the option that helps."""
    log = logging.getLogger("geode")
    log.addFilter(_is_no_advice)
    try:
        yield
    finally:
        log.removeFilter(_is_no_advice)


def _is_no_advice(record: logging.LogRecord) -> bool:
    return "has no approve=" not in record.getMessage()


class Told:
    """Hands events on to be shown. When they cannot be written any more the run is stopped: it would be paid for in vain."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self.loop: AgenticLoop | None = None
        self.nobody_reads: OSError | None = None

    def __call__(self, event: Event) -> None:
        try:
            self._shown.event(event)
        except OSError as error:
            self.nobody_reads = error
            if self.loop is not None:
                self.loop.stop()


async def perform(work: Callable[[AgenticLoop], Awaitable[Outcome]], opening: Session, told: Told) -> Outcome:
    """What `work` makes of the session; OSError when what it tells can be written no more."""
    async with opening as loop:
        told.loop = loop
        outcome = await work(loop)
    if told.nobody_reads is not None:
        raise told.nobody_reads
    return outcome


async def _streamed(loop: AgenticLoop, prompt: str, told: Told) -> Outcome:
    outcome: Outcome | None = None
    async for event in loop.stream(prompt):
        told(event)
        if isinstance(event, Finished):
            outcome = event.outcome
    if outcome is None:
        raise AssertionError("a stream ended without its last event")
    return outcome


def _prompt(given: str) -> str:
    text = sys.stdin.read() if given == "-" else given
    if not text.strip():
        raise Misuse("empty-prompt", "the prompt is empty: geode run PROMPT, or geode run - and the prompt on stdin")
    return text


def _settings(arguments: Namespace, providers: Sequence[Provider]) -> Settings:
    tools = load_tools(arguments.tools)
    settings = Settings(tools=tools, providers=providers, system=arguments.system)
    approver = _approver(arguments.approve, tools)
    if approver is not None:
        settings["approve"] = approver
    return settings


def _policy(arguments: Namespace) -> Policy:
    if arguments.max_rounds is None:
        return Policy(max_seconds=arguments.time)
    return Policy(max_seconds=arguments.time, max_rounds=arguments.max_rounds)


def _approver(which: str, tools: Sequence[Tool]) -> Approver | None:
    """Who answers for the tools above MCP_TRUSTED. Those that nobody will allow are named once, before the run."""
    asking = {tool.spec.name: tool.tier.name for tool in tools if tool.tier.needs_approval}
    if which == "all":
        return ApproveAll()
    allowed = {name.strip() for name in which.split(",") if name.strip()} - {"none"}
    for name in sorted(allowed - {tool.spec.name for tool in tools}):
        known = [tool.spec.name for tool in tools]
        close = closest(name, known)
        hint = f"did you mean {close[0]}?" if close else f"the tools are: {', '.join(known) or 'none (see --tools)'}"
        raise Misuse("approve-name", f'--approve names "{name}", which is no tool of this run; {hint}')
    denied = [name for name in asking if name not in allowed]
    if denied:
        named = ", ".join(f"{name} ({asking[name]})" for name in denied)
        option = ",".join([*sorted(allowed), *denied])
        advice = f'--approve {option} allows them; what cannot hurt is marked @tool(tier="safe")'
        print(f"geode run: every call of {named} will be denied. {advice}", file=sys.stderr)
    return ApproveNamed(allowed) if allowed else None
