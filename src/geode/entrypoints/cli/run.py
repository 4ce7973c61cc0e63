"""`geode run`: one run from the command line."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from argparse import Namespace
from collections.abc import Sequence

from geode.domain.errors import Misuse
from geode.domain.loop.outcome import Outcome
from geode.domain.naming import closest
from geode.domain.policy import Policy
from geode.entrypoints.approvers import ApproveAll, ApproveNamed
from geode.entrypoints.cli.exit_codes import exit_code
from geode.entrypoints.cli.route import route
from geode.entrypoints.cli.shown import AnswerOnly, AsItComes, AsJsonLines, Shown
from geode.entrypoints.cli.tools import load_tools
from geode.entrypoints.runtime import session
from geode.entrypoints.settings import Settings
from geode.ports.approval import Approver
from geode.ports.events import Finished
from geode.ports.tools import Tool


def run_command(arguments: Namespace) -> int:
    """Run, show it, and give the exit code of the outcome.

    stdout is for the run alone: whatever tools print goes to stderr.
    """
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        prompt = _prompt(arguments.prompt)
        settings = _settings(arguments)
        shown = AsJsonLines(out) if arguments.jsonl else AsItComes(out) if arguments.stream else AnswerOnly(out)
        if not arguments.stream:
            settings["observe"] = shown.event
        outcome = asyncio.run(_perform(prompt, settings, shown, streamed=arguments.stream))
        shown.end(outcome)
    return exit_code(outcome)


async def _perform(prompt: str, settings: Settings, shown: Shown, *, streamed: bool) -> Outcome:
    async with session(**settings) as loop:
        if not streamed:
            return await loop.run(prompt)
        outcome: Outcome | None = None
        async for event in loop.stream(prompt):
            shown.event(event)
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


def _settings(arguments: Namespace) -> Settings:
    model, providers = route(arguments)
    tools = load_tools(arguments.tools)
    settings = Settings(tools=tools, providers=providers, system=arguments.system, policy=_policy(arguments))
    if model is not None:
        settings["model"] = model
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
