"""An emulator that says, in one line for each request, what came and what became of it."""

from __future__ import annotations

import sys
import time

from starlette.responses import Response

from geode.domain.script import Called, Fails, Reply, Said, Step, Thought
from geode.entrypoints.cli.words import short
from geode.entrypoints.emulator.server import Emulator, Received


class LoggedEmulator(Emulator):
    """The emulator of `geode emulate`."""

    def unknown_path(self, path: str) -> Response:
        print(f"{time.strftime('%H:%M:%S')}  no wire is at {short(path, 80)}: 404", file=sys.stderr, flush=True)
        return super().unknown_path(path)

    def keep(self, received: Received) -> None:
        super().keep(received)
        print(f"{time.strftime('%H:%M:%S')}  {line(received)}", file=sys.stderr, flush=True)


def line(received: Received) -> str:
    """`messages   claude-sonnet-4-5  streamed  accepted  → says "Hi"`, or the rule that refused it."""
    request = received.request
    streamed = "streamed" if request.get("stream") else "whole"
    head = f"{received.protocol:<9}  {short(str(request.get('model', '?')), 32):<20}  {streamed:<8}"
    if received.violations:
        first = received.violations[0]
        return f"{head}  refused   {first.status} {first.rule} at {first.at or '/'}: {first.message}"
    return f"{head}  accepted  → {_step_text(received.step)}"


def _step_text(step: Step | None) -> str:
    match step:
        case None:
            return "the script has no more steps"
        case Reply(items=items):
            return "; ".join(_item_text(item) for item in items) or "an empty reply"
        case Fails(status=status):
            return f"fails with {status}"
        case _:
            return type(step).__name__.lower()


def _item_text(item: Said | Thought | Called) -> str:
    match item:
        case Said(text=text):
            return f'says "{short(text, 40)}"'
        case Thought(text=text):
            return f'thinks "{short(text, 40)}"'
        case Called(name=name):
            return f"calls {name}"
