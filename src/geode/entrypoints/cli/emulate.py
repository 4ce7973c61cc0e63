"""`geode emulate`: a model server on this machine, until Ctrl-C."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

from geode.domain.errors import Misuse
from geode.domain.script import Script, says
from geode.domain.script_json import script_from_json

GREETING: Final[Script] = (
    says("Hello! I am the emulator of geode: I play a model server, and I refuse what a real one would refuse."),
    says("Hello again. To make me call your tools, write a script: geode emulate --help shows one."),
)


def emulate_command(arguments: Namespace) -> int:
    """Serve until interrupted. Misuse without the extra, for a bad script, and where nothing can listen."""
    script = GREETING if arguments.script is None else read_script(arguments.script)
    from geode.entrypoints import emulator

    try:
        serve = emulator.serve
    except ImportError as error:
        raise Misuse(
            "missing-extra", f'geode emulate needs the extra "emulator": pip install "geode[emulator]" ({error})'
        ) from error
    from geode.entrypoints.cli.emulator_log import LoggedEmulator

    playing = LoggedEmulator(
        script,
        dialect=arguments.dialect,
        on_missing="error" if arguments.once else "restart",
        by_conversation=not arguments.once,
    )
    place = f"--host {arguments.host} --port {arguments.port}"
    with _listening(place):
        serve(
            playing,
            arguments.host,
            arguments.port,
            listening=lambda port: print(banner(arguments.host, port), flush=True),
        )
    return 0


@contextmanager
def _listening(place: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise Misuse("emulator-address", f"{place}: {why}; --port 0 takes a free one") from error


def read_script(path: str) -> Script:
    """The script of a JSON file."""
    try:
        return _script(json.loads(Path(path).read_text("utf-8")))
    except OSError as error:
        raise Misuse("script", f"--script {path}: {error.strerror}") from error
    except (ValueError, TypeError) as error:
        raise Misuse("script", f"--script {path}: {error}. geode emulate --help shows a script") from error


def _script(steps: object) -> Script:
    if not isinstance(steps, list):
        raise ValueError(f"a script must be a JSON list of steps, got {type(steps).__name__}")
    return script_from_json(cast("list[object]", steps))


def banner(host: str, port: int) -> str:
    """The addresses, and what to type in another terminal."""
    base = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    return f"""\
geode emulate: listening until Ctrl-C; no key is needed on this machine
  messages   {base}      geode run "Hi" --model claude-sonnet-4-5 --base-url {base}
  responses  {base}/v1   geode run "Hi" --model gpt-5.2 --base-url {base}/v1
  chat       {base}/v1   geode run "Hi" --model any-name --base-url {base}/v1 --wire chat
"""
