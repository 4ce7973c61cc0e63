"""`geode chat`: prompts and answers in one conversation, with commands between them."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, TextIO

from geode.domain.errors import GeodeError, Misuse
from geode.entrypoints.cli.chat_commands import perform
from geode.entrypoints.cli.chat_lines import Lines, PipedLines, TypedLines
from geode.entrypoints.cli.chat_session import Chat
from geode.entrypoints.cli.extras import needs
from geode.entrypoints.cli.wrong_use import on_the_command_line
from geode.entrypoints.places import user_folder

if TYPE_CHECKING:
    from prompt_toolkit.output import Output


def chat_command(arguments: Namespace) -> int:
    """Talk until there are no more lines; the exit code is that of the last run.

    stdout is for what models and commands say: whatever tools print goes to stderr.
    """
    out = sys.stdout
    attended = sys.stdin.isatty() and out.isatty()
    if attended:
        needs("prompt_toolkit", "geode chat", "cli")
    with contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as until_the_end:
        chat = Chat(arguments, out, attended=attended, until_the_end=until_the_end)
        lines: Lines = TypedLines(user_folder() / "history", output=_output(out)) if attended else PipedLines(sys.stdin)
        return asyncio.run(talk(chat, lines))


async def talk(chat: Chat, lines: Lines) -> int:
    """Take one line after the other; the exit code of the last run."""
    if chat.attended:
        chat.say(f"geode chat with {chat.answering.shown}; /help says more")
    async with chat:
        while not chat.over and (line := await lines.next()) is not None:
            await take(chat, line)
    return chat.code


async def take(chat: Chat, line: str) -> None:
    """Perform a command, or run a prompt. What is wrong with either is told, and the chat goes on."""
    try:
        if line.startswith("/"):
            await perform(chat, line)
        elif line.strip():
            await chat.prompt(line)
    except Misuse as error:
        chat.trouble(on_the_command_line(error))
    except GeodeError as error:
        chat.trouble(str(error))


def _output(out: TextIO) -> Output:
    from prompt_toolkit.output import create_output

    return create_output(out)
