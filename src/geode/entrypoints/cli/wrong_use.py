"""Misuse, told to someone at a shell: where the way out is an argument in Python, name the option instead."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping
from typing import Final

from geode.domain.errors import Misuse
from geode.entrypoints.places import routing_path

_OTHER_WORDS: Final[Mapping[str, str]] = {"give model=…": "give --model ID"}
_ONLY_IN_PYTHON: Final = (
    ", or give session(providers=[Provider(…)])",
    ", or session(providers=…), or try model=ScriptedModel(…)",
)
_OPTIONAL_SERVER: Final = re.compile(r'McpServer\("[^"]*", required=False\) goes on without it')
_WITHOUT_KEY: Final = "Without a key: geode demo; or geode emulate, and --base-url with the address that it prints"
_WIRES: Final = "--wire messages|responses|chat"


def on_the_command_line(error: Misuse, arguments: Namespace | None = None) -> str:
    """The message, in the words of the command line, with a way out that the command of the `arguments` has."""
    more = _WITHOUT_KEY if error.id == "no-key" else _own_server(error, arguments) if error.id == "unknown-model" else ""
    text = in_words_of_a_terminal(str(error))
    return f"{text}\n{more}" if more else text


def in_words_of_a_terminal(text: str) -> str:
    """The text without what can be done in Python alone."""
    for words, instead in _OTHER_WORDS.items():
        text = text.replace(words, instead)
    for words in _ONLY_IN_PYTHON:
        text = text.replace(words, "")
    return _OPTIONAL_SERVER.sub("required = false in its declaration goes on without it", text)


def _own_server(error: Misuse, arguments: Namespace | None) -> str:
    """How a model is asked for that no provider serves: by options where the command has them for that model."""
    options = {} if arguments is None else vars(arguments)
    # The options move the model of the run, and none of those that it falls back on.
    of_fallback = any(f'"{one}"' in str(error) for one in options.get("fallback") or ())
    if "base_url" not in options or of_fallback:
        return f"For a server of your own: [providers.NAME] in {routing_path()}, and NAME/MODEL as the id"
    if options["base_url"] is not None:
        return f"--wire is missing: --base-url is a server of your own with {_WIRES}"
    return f"For a server of your own: --base-url URL {_WIRES}"
