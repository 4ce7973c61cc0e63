"""Who answers for the tools above MCP_TRUSTED in `geode run`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack

from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.application.catalog import Catalog
from geode.domain.approval import Decision
from geode.domain.content import ToolUseBlock
from geode.domain.errors import Misuse
from geode.domain.naming import closest
from geode.domain.verdicts import Invalid
from geode.entrypoints.approvers import ApproveAll, ApproveNamed, AskAboutOthers
from geode.entrypoints.cli.ask import AskTerminal
from geode.entrypoints.cli.terminal import Tty
from geode.entrypoints.subagents import with_inner
from geode.ports.approval import Approver
from geode.ports.tools import Tool


def approver_for(
    which: str | None,
    tools: Sequence[Tool],
    *,
    sources: Sequence[str] = (),
    attended: bool,
    until_the_end: ExitStack,
    command: str = "geode run",
    ended: Callable[[], Decision] | None = None,
) -> Approver | None:
    """Who answers. Those that nobody will allow are named once, before the run.

    `which` is the option as given; without it a person is asked where one is there (`attended`). The
    terminal is opened only for a tool that needs an answer, or for `sources`, whose tools nobody knows yet, by name; it is
    closed with `until_the_end`. `ended` answers where the person will not, after Ctrl-D; without it that denies.
    """
    if which == "all":
        return ApproveAll()
    tools = with_inner(tools)
    words = {name.strip() for name in (which or "").split(",") if name.strip()} - {"none"}
    allowed = words - {"ask"}
    if not sources:
        _check_names(allowed, tools)
    asking = {tool.spec.name: tool.tier.name for tool in tools if tool.tier.needs_approval}
    open_ones = [name for name in asking if name not in allowed]
    if (open_ones or sources) and ("ask" in words or (which is None and attended)):
        terminal = Tty.opened()
        if terminal is not None:
            until_the_end.callback(terminal.close)
            answering = () if ended is None else (ended,)
            return AskAboutOthers(allowed, AskTerminal(terminal, _errors(tools), *answering))
        if "ask" in words:
            option = ",".join([*sorted(allowed), *open_ones]) or "NAME,…"
            raise Misuse("no-terminal", f"--approve ask: there is no terminal to ask on; name what may run: --approve {option}")
    if open_ones:
        _tell_denied(command, open_ones, asking, allowed)
    if sources and not allowed:
        those = ", ".join(sources)
        print(
            f"{command}: calls of tools of {those} above MCP_TRUSTED will be denied; --approve NAME,… allows", file=sys.stderr
        )
    return ApproveNamed(allowed) if allowed else None


def _check_names(allowed: Collection[str], tools: Sequence[Tool]) -> None:
    known = [tool.spec.name for tool in tools]
    for name in sorted(set(allowed) - set(known)):
        close = closest(name, known)
        hint = f"did you mean {close[0]}?" if close else f"the tools are: {', '.join(known) or 'none (see --tools)'}"
        raise Misuse("approve-name", f'--approve names "{name}", which is no tool of this run; {hint}')


def _tell_denied(command: str, denied: Sequence[str], tiers: dict[str, str], allowed: Collection[str]) -> None:
    named = ", ".join(f"{name} ({tiers[name]})" for name in denied)
    option = ",".join([*sorted(allowed), *denied])
    advice = f'--approve {option} allows them; what cannot hurt is marked @tool(tier="safe")'
    print(f"{command}: every call of {named} will be denied. {advice}", file=sys.stderr)


def _errors(tools: Sequence[Tool]) -> Callable[[ToolUseBlock], tuple[str, ...]]:
    catalog = Catalog.of(tools, JsonschemaValidator())

    def errors(call: ToolUseBlock) -> tuple[str, ...]:
        verdict = catalog.check(call)
        return verdict.errors if isinstance(verdict, Invalid) else ()

    return errors
