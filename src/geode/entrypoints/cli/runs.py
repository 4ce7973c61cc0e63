"""`geode runs`: what a journal holds, and going on with it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from geode.adapters.journal_file import FileJournal
from geode.domain.errors import Misuse
from geode.domain.json_value import dump_json
from geode.domain.loop.actions import Suspend
from geode.domain.loop.recording import replay
from geode.domain.loop.state import State
from geode.domain.policy import Policy
from geode.entrypoints.cli.arguments import DEFAULT_JOURNAL
from geode.entrypoints.cli.exit_codes import NOT_ALL, exit_code
from geode.entrypoints.cli.run import Told, answer_only, journal_of, opened, perform, tell_way_on
from geode.entrypoints.cli.runs_shown import RunLine, conversation_json, line_of, table_of, told_run, with_outer
from geode.entrypoints.cli.shown import AsJsonLines
from geode.entrypoints.cli.tools import given_tools
from geode.entrypoints.routes.registry import bootstrap_builtins
from geode.ports.journal import JournalError

_SHOWN: Final = 8


def runs_command(arguments: Namespace) -> int:
    """Perform the action and give its exit code."""
    journal = _journal(arguments)
    match arguments.action:
        case "list":
            return _list(journal, as_json=arguments.json)
        case "show":
            return _show(journal, which_run(journal, arguments.run), as_json=arguments.json)
        case "replay":
            return _replay(journal, which_run(journal, arguments.run), as_json=arguments.json)
        case _:
            return _resume(journal, which_run(journal, arguments.run), arguments)


def _journal(arguments: Namespace) -> FileJournal:
    folder = Path(journal_of(arguments) or DEFAULT_JOURNAL)
    if not folder.is_dir():
        way_out = "name the folder with --journal DIR or GEODE_JOURNAL; geode run --journal DIR makes one"
        raise Misuse("journal-folder", f"there is no journal at {folder}: {way_out}")
    return FileJournal(folder)


def which_run(journal: FileJournal, given: str) -> str:
    """The run whose id is, or begins with, what was given."""
    ids = journal.run_ids()
    found = [given] if given in ids else [id for id in ids if given and id.startswith(given)]
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
        raise Misuse("runs-which", f"{len(found)} runs begin with {given}: {shown}; write more of the id")
    raise Misuse("runs-which", f'{journal.folder} has no run "{given:.80}"; geode runs list says which there are')


def _list(journal: FileJournal, *, as_json: bool) -> int:
    lines: list[RunLine] = []
    for run_id in journal.run_ids():
        try:
            lines.append(line_of(journal.recorded(run_id), journal.run_by(run_id)))
        except JournalError as error:
            print(f"geode runs: {error}", file=sys.stderr)
            lines.append(RunLine(run_id, "damaged"))
    lines = with_outer(lines)
    if as_json:
        print(dump_json([line.as_json() for line in lines]))
        return 0
    for text in table_of(lines):
        print(text)
    return 0


def _show(journal: FileJournal, run_id: str, *, as_json: bool) -> int:
    recording = journal.recorded(run_id)
    line = line_of(recording, journal.run_by(run_id))
    if as_json:
        print(dump_json({**line.as_json(), "conversation": conversation_json(recording)}))
        return 0
    for text in told_run(recording, line):
        print(text)
    return 0


def _replay(journal: FileJournal, run_id: str, *, as_json: bool) -> int:
    found = replay(journal.recorded(run_id))
    divergence = found.divergence
    if as_json:
        both = None if divergence is None else {"record": divergence.record, "recorded": divergence.recorded}
        replayed = {} if divergence is None else {"replayed": divergence.replayed}
        print(dump_json({"run_id": run_id, "inputs": found.inputs, "divergence": both and {**both, **replayed}}))
    elif divergence is None:
        print(f"{run_id}: {found.inputs} inputs, and the same actions again")
    else:
        print(f"{run_id}: after {found.inputs} inputs, record {divergence.record} is another")
        print(f"recorded  {divergence.recorded}")
        print(f"replayed  {divergence.replayed}")
    return 0 if divergence is None else NOT_ALL


def check_tools(state: State | None, given: Iterable[str]) -> None:
    """Misuse where a call that waits for a person has no tool here: it would fail, and the run would go on without it."""
    if state is None or not isinstance(state.pending, Suspend):
        return
    missing = sorted({state.round.call(id).name for id in state.pending.asked} - set(given))
    if missing:
        raise Misuse(
            "runs-tools",
            f"run {state.terms.run_id} waits with calls of {', '.join(missing)}: give --tools MODULE:NAME as it had",
        )


def _resume(journal: FileJournal, run_id: str, arguments: Namespace) -> int:
    """stdout is for the run alone, as in `geode run`."""
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as until_the_end:
        state = replay(journal.recorded(run_id)).state
        given = given_tools(arguments, quietly=True)
        if not given.sources:  # what these have is known when they are open
            check_tools(state, (tool.spec.name for tool in given.tools))
        shown = AsJsonLines(out) if arguments.jsonl else answer_only(arguments, out)
        told = Told(shown)
        opening = opened(_with_its_model(arguments, state), told, Policy(), journal, until_the_end)
        outcome = asyncio.run(perform(lambda loop: loop.resume_run(run_id), opening, told))
        shown.end(outcome)
        tell_way_on(outcome, journal, arguments)
    return exit_code(outcome)


def _with_its_model(arguments: Namespace, state: State | None) -> Namespace:
    """Without another model named, the one that the run has, where somebody serves it here: nothing switches by itself."""
    if arguments.model or arguments.base_url or state is None:
        return arguments
    owner = state.terms.owner
    its = f"{owner.adapter}/{owner.model}"
    try:
        bootstrap_builtins().route(its)
    except Misuse:
        # Reached by an address that the journal does not keep: the run goes on with what is configured, and says so.
        return arguments
    return Namespace(**{**vars(arguments), "model": its})
