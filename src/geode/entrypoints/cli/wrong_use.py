"""Misuse, told to someone at a shell: where the way out is an argument in Python, name the option instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from geode.domain.errors import Misuse

_OTHER_WORDS: Final[Mapping[str, str]] = {"give model=…": "give --model ID"}
_ONLY_IN_PYTHON: Final = (
    ", or give session(providers=[Provider(…)])",
    ", or session(providers=…), or try model=ScriptedModel(…)",
)
_MORE: Final[Mapping[str, str]] = {
    "no-key": "Without a key: geode demo; or geode emulate, and --base-url with the address that it prints",
    "unknown-model": "For a server of your own: --base-url URL --wire messages|responses|chat",
}


def on_the_command_line(error: Misuse) -> str:
    """The message, in the words of the command line."""
    text = str(error)
    for words, instead in _OTHER_WORDS.items():
        text = text.replace(words, instead)
    for words in _ONLY_IN_PYTHON:
        text = text.replace(words, "")
    return f"{text}\n{_MORE[error.id]}" if error.id in _MORE else text
