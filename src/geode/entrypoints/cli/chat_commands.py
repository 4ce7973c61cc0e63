"""The commands of a chat: lines that begin with a slash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from geode.adapters.journal_file import FileJournal
from geode.application.compacting import told_usage
from geode.domain.codec import dumps, loads
from geode.domain.compaction import text_of
from geode.domain.conversation import Conversation
from geode.domain.effort import choice_problem, effort_problem, inherited
from geode.domain.errors import Misuse
from geode.domain.loop.actions import Finish
from geode.domain.loop.recording import Began, Recording, replay
from geode.domain.loop.state import State
from geode.domain.naming import closest
from geode.domain.picking import Applied, ModelChoice, opened, window_problem
from geode.domain.tokens import estimate_tokens
from geode.entrypoints.cli.chat_session import Chat
from geode.entrypoints.cli.interrupts import unless_cut_off
from geode.entrypoints.cli.model_settings import choice_of, choices, save, stored
from geode.entrypoints.cli.runs import check_tools, which_run
from geode.entrypoints.cli.runs_shown import RunLine, line_of, table_of
from geode.entrypoints.cli.words import counted
from geode.ports.journal import JournalError


@dataclass(frozen=True, slots=True)
class Command:
    """`perform` gets the chat and what stands after the command's word."""

    takes: str
    help: str
    perform: Callable[[Chat, str], Awaitable[None]]


async def perform(chat: Chat, line: str) -> None:
    """Perform the command of a line. Misuse, with the closest word, for one that is none."""
    word, _, rest = line[1:].partition(" ")
    command = COMMANDS.get(word)
    if command is None:
        close = closest(word, COMMANDS)
        hint = f"did you mean /{close[0]}?" if close else "/help names them."
        raise Misuse("chat-command", f"there is no command /{word[:40]}; {hint} A prompt may begin with a blank and a slash")
    if rest.strip() and not command.takes:
        raise Misuse("chat-command", f"/{word} takes nothing after it")
    await command.perform(chat, rest.strip())


async def _help(chat: Chat, _: str) -> None:
    heads = {name: f"/{name} {command.takes}".rstrip() for name, command in COMMANDS.items()}
    wide = max(map(len, heads.values()))
    chat.say("\n".join(f"{head.ljust(wide)}  {COMMANDS[name].help}" for name, head in heads.items()))


async def _tools(chat: Chat, _: str) -> None:
    chat.say("\n".join(chat.approval.lines()))


async def _cost(chat: Chat, _: str) -> None:
    chat.say("\n".join(chat.spending.lines()))


async def _approve(chat: Chat, which: str) -> None:
    if which:
        chat.approval.say(which)
    chat.say("\n".join(chat.approval.lines()))


async def _compact(chat: Chat, _: str) -> None:
    before = chat.conversation
    loop = await chat.loop()
    made = await unless_cut_off(loop.compact(before), lambda: chat.trouble("Ctrl-C again leaves the conversation as it is"))
    if made is None:
        return
    if made.served is None:
        chat.say(f"nothing of {counted(len(before.turns), 'turn', 'turns')} can be left out: the latest stay as they are")
        return
    chat.conversation = made.conversation
    turns = f"{counted(len(before.turns), 'turn', 'turns')} became {len(made.conversation.turns)}"
    saved = estimate_tokens(text_of(before.turns)) - estimate_tokens(text_of(made.conversation.turns))
    told = f"about {saved:,} tokens less" if saved > 0 else f"about {-saved:,} tokens more: it was short already"
    chat.say(f"{turns}, {told} with each prompt; the summary took {told_usage(made.usage)}")


async def _clear(chat: Chat, _: str) -> None:
    turns = len(chat.conversation.turns)
    chat.conversation, chat.spending.conversation_tokens = Conversation(), None
    chat.say(f"a new conversation; {counted(turns, 'turn is', 'turns are')} left behind")


async def _quit(chat: Chat, _: str) -> None:
    chat.over = True


# ---- the model ---------------------------------------------------------------------------------


async def _model(chat: Chat, words: str) -> None:
    if not words:
        await _picked(chat)
        return
    model, _, word = words.partition(" ")
    explicit = word.strip() or None
    effort = explicit or chat.effort
    choice = choice_of(model, chat.answering_by(model).providers)
    problem = window_problem(choice, chat.spending.conversation_tokens) or (
        effort_problem(model, choice.efforts, explicit)
        if explicit
        else choice_problem(model, choice.efforts, effort, chat.effort)
    )
    if problem:
        raise Misuse("model-choice", f"{problem}. Or: /model {model}, with another EFFORT or without")
    await _switched(chat, choice, effort, sent=explicit or inherited(choice.efforts, effort))
    chat.say("this holds for this chat; geode model sets it for all")


async def _picked(chat: Chat) -> None:
    """The picker, on what answers now; what it applies is saved, and holds here too."""
    if not chat.attended:
        raise Misuse("no-terminal", "/model opens the picker on a terminal, and here is none: /model ID, or /model ID EFFORT")
    from geode.entrypoints.cli.picker import picking

    now = replace(stored(), model=chat.answering.name, effort=chat.effort)
    found = await picking(opened(choices(chat.answering.providers), now, chat.spending.conversation_tokens)).run_async()
    if not isinstance(found, Applied) or not found.changes:
        chat.say("nothing changed")
        return
    for line in save(found.changes):
        chat.say(line)
    model, effort = found.chosen.model, found.chosen.effort
    if model is not None and {"model", "effort"} & set(found.changes):
        choice = choice_of(model, chat.answering_by(model).providers)
        await _switched(chat, choice, effort, sent=inherited(choice.efforts, effort))


async def _switched(chat: Chat, choice: ModelChoice, effort: str | None, *, sent: str | None) -> None:
    if choice.unusable:
        raise Misuse("model-choice", f"{choice.id} cannot be used: {choice.unusable}")
    before = chat.answering
    await chat.answer_by(replace(chat.answering_by(choice.id), effort=sent))
    chat.effort = effort
    turns = len(chat.conversation.turns)
    with_it = f"the conversation of {counted(turns, 'turn', 'turns')} goes on with it" if turns else ""
    said = f"from the next prompt on {chat.answering.shown} answers, not {before.shown}"
    chat.say("; ".join(filter(None, (said, with_it))))


# ---- runs that stopped -------------------------------------------------------------------------


async def _resume(chat: Chat, given: str) -> None:
    here = [id for id in chat.suspended if given and id.startswith(given)]
    if not given:
        _list(chat)
    elif len(here) == 1 and not chat.keeps_runs:
        snapshot = chat.suspended[here[0]].snapshot
        _tell_left_behind(chat, loads(State, snapshot))
        await chat.resumed(here[0], snapshot, None)
    else:
        await _resume_kept(chat, given)


async def _resume_kept(chat: Chat, given: str) -> None:
    if not chat.runs_folder.is_dir():
        raise Misuse("runs-which", f'no run "{given:.80}" waits in this chat, and none is kept in {chat.runs_folder}')
    journal = FileJournal(chat.runs_folder)
    run_id = which_run(journal, given)
    state = replay(journal.recorded(run_id)).state
    if not chat.given.sources:
        check_tools(state, (tool.spec.name for tool in chat.given.tools))
    if state is None or isinstance(state.pending, Finish):
        raise Misuse("runs-which", f"run {run_id} is over: there is nothing to go on with")
    _tell_left_behind(chat, state)
    await chat.resumed(run_id, dumps(state), None if chat.keeps_runs else chat.runs_folder)


def _tell_left_behind(chat: Chat, state: State) -> None:
    """Say so where something was said that the run, which is gone on with, does not know of."""
    turns = len(chat.conversation.turns)
    if turns and state.closed.turns[:turns] != chat.conversation.turns:
        run_id = state.terms.run_id
        chat.say(f"the conversation is that of run {run_id[:8]} from here on; what else was said here is left behind")


def _list(chat: Chat) -> None:
    kept = list(_kept(chat.runs_folder))
    lines = [*_waiting_here(chat, {line.run_id for line in kept}), *kept]
    chat.say("\n".join(table_of(lines)) if lines else f"no run waits or was cut off (looked in {chat.runs_folder})")


def _waiting_here(chat: Chat, kept: Collection[str]) -> Iterator[RunLine]:
    """Those that wait in this chat alone, for they could not be kept."""
    for run_id, outcome in chat.suspended.items():
        if run_id not in kept and not chat.keeps_runs:
            yield line_of(Recording(run_id, (Began(loads(State, outcome.snapshot)),), torn=False), None)


def _kept(folder: Path) -> Iterator[RunLine]:
    """The runs of the folder that can be gone on with."""
    if not folder.is_dir():
        return
    journal = FileJournal(folder)
    for run_id in journal.run_ids():
        try:
            recording, run_by = journal.recorded(run_id), journal.run_by(run_id)
        except JournalError as error:
            yield RunLine(run_id, f"damaged: {error}")
            continue
        state = replay(recording).state
        if state is not None and run_by is None and not isinstance(state.pending, Finish):
            yield line_of(recording, None)


COMMANDS: Final[Mapping[str, Command]] = {
    "help": Command("", "say what the commands do", _help),
    "model": Command("[ID [EFFORT]]", "choose who answers from the next prompt on; without ID, the picker", _model),
    "tools": Command("", "the tools, and what becomes of their calls", _tools),
    "approve": Command(
        "[WHICH]", "which tools may run, in the words of --approve: names with commas, all, none, ask", _approve
    ),
    "cost": Command("", "tokens by model so far, and what they cost where that is known", _cost),
    "resume": Command("[RUN]", "go on with a run that waits or was cut off; without RUN, list them", _resume),
    "compact": Command("", "put a summary in the place of what was said first, and say what it saved and cost", _compact),
    "clear": Command("", "begin a new conversation", _clear),
    "quit": Command("", "end the chat, as Ctrl-D does", _quit),
}
