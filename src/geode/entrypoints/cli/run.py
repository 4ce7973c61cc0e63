"""`geode run`: one run from the command line."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shlex
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from geode.adapters.journal_file import FileJournal
from geode.adapters.json_files import read_json
from geode.application.agentic_loop import AgenticLoop
from geode.domain.codec import loads
from geode.domain.configuration import Found
from geode.domain.errors import Misuse
from geode.domain.loop.outcome import Outcome, Suspended
from geode.domain.loop.state import State
from geode.domain.policy import Policy
from geode.domain.targets import Target
from geode.entrypoints.cli.approval import approver_for
from geode.entrypoints.cli.arguments import DEFAULT_JOURNAL
from geode.entrypoints.cli.exit_codes import exit_code
from geode.entrypoints.cli.route import load_sdk, route
from geode.entrypoints.cli.shown import AnswerOnly, AsItComes, AsJsonLines, Shown
from geode.entrypoints.cli.tools import given_tools
from geode.entrypoints.config import configuration, folder_of
from geode.entrypoints.runtime import Session, session
from geode.entrypoints.settings import Settings
from geode.ports.events import Event, Finished


def run_command(arguments: Namespace) -> int:
    """Run, show it, and give the exit code of the outcome.

    stdout is for the run alone: whatever tools print goes to stderr.
    """
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as until_the_end:
        prompt = _prompt(arguments.prompt)
        shown = AsJsonLines(out) if arguments.jsonl else AsItComes(out) if arguments.stream else answer_only(arguments, out)
        told = Told(shown)
        journal = journal_of(arguments)
        opening = opened(arguments, told, policy_of(arguments), journal, until_the_end)

        def work(loop: AgenticLoop) -> Awaitable[Outcome]:
            return _streamed(loop, prompt, told) if arguments.stream else loop.run(prompt)

        outcome = asyncio.run(perform(work, opening, told))
        shown.end(outcome)
        tell_way_on(outcome, journal, arguments)
    return exit_code(outcome)


def answer_only(arguments: Namespace, out: TextIO) -> AnswerOnly:
    """The answer alone, as the JSON that it is where it has to fit a schema."""
    return AnswerOnly(out, typed=arguments.schema is not None)


def journal_of(arguments: Namespace) -> str | None:
    """The folder that `--journal` names, or else the configuration."""
    given = {"journal": Found(arguments.journal, "--journal")} if arguments.journal else {}
    folder = configuration(given).value("journal")
    return None if folder is None else str(folder_of(folder))


def opened(
    arguments: Namespace,
    told: Told,
    policy: Policy,
    journal: str | FileJournal | None,
    until_the_end: contextlib.ExitStack,
) -> Session:
    """The session that the arguments ask for, and whoever it asks `until_the_end`. Its SDK is imported."""
    model, providers = route(arguments)
    settings = _settings(arguments, providers, until_the_end)
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


def tell_way_on(outcome: Outcome, journal: str | FileJournal | None, arguments: Namespace) -> None:
    """How a run that waits for a person is gone on with. One that was not kept as it happened is kept from here on."""
    if isinstance(outcome, Suspended):
        if not journal:
            journal = FileJournal(DEFAULT_JOURNAL)
            state = loads(State, outcome.snapshot)
            journal.began(state)
            journal.left(state)
        folder = journal if isinstance(journal, str) else journal.folder
        words = ["geode", "runs", "resume", outcome.run_id, "--journal", str(folder), *_of_session(arguments)]
        print(f"to go on: {shlex.join(words)} --approve ask", file=sys.stderr)


def _of_session(arguments: Namespace) -> Iterator[str]:
    """The options that say what no journal keeps: the tools, the system text, and how the model is reached."""
    for tool in arguments.tools:
        yield from ("--tools", tool)
    for fallback in arguments.fallback:
        yield from ("--fallback", fallback)
    for file in arguments.mcp_config:
        yield from ("--mcp-config", file)
    yield from (f"--{name.replace('_', '-')}" for name in ("mcp_project", "no_mcp") if getattr(arguments, name))
    for name in ("model", "effort", "system", "base_url", "wire", "key_from", "schema"):
        if value := getattr(arguments, name, None):
            yield from (f"--{name.replace('_', '-')}", value)


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


def _settings(arguments: Namespace, providers: Sequence[Target], until_the_end: contextlib.ExitStack) -> Settings:
    given = given_tools(arguments)
    settings = Settings(tools=given.all, providers=providers, system=arguments.system)
    attended = sys.stderr.isatty() and not arguments.jsonl
    approver = approver_for(
        arguments.approve, given.tools, sources=given.source_names, attended=attended, until_the_end=until_the_end
    )
    if approver is not None:
        settings["approve"] = approver
    schema = getattr(arguments, "schema", None)
    if schema is not None:
        settings["answer"] = read_json(Path(schema)).value
    return with_model_options(settings, arguments)


def with_model_options(settings: Settings, arguments: Namespace) -> Settings:
    """The settings, with the effort and the fallbacks that the arguments name."""
    if arguments.effort is not None:
        settings["effort"] = arguments.effort
    if arguments.fallback:
        settings["fallbacks"] = arguments.fallback
    return settings


def policy_of(arguments: Namespace) -> Policy:
    """The limits that the arguments name."""
    if arguments.max_rounds is None:
        return Policy(max_seconds=arguments.time)
    return Policy(max_seconds=arguments.time, max_rounds=arguments.max_rounds)
