"""The grammar of `geode config`, `geode about`, `geode models` and `geode adapters`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

CONFIG_EPILOG: Final = """\
The strongest that says something wins:
  1  the command line, or the argument in Python
  2  the environment: the process, then ./.env, then ~/.geode/.env
  3  ./.geode/config.toml, of the project
  4  ~/.geode/config.toml, of the user
  5  routing.toml
An empty variable is no value. The variable GEODE_HOME moves ~/.geode.

examples:
  geode config set model claude-sonnet-4-5
  geode config set sources.openai oauth --project
  geode config explain model
"""
# What it does, whether it takes a key, and whether it writes.
_ACTIONS: Final[Mapping[str, tuple[str, bool, bool]]] = {
    "get": ("print the value in force; exit code 1 where nothing sets it", True, False),
    "set": ("write a value into ~/.geode/config.toml; the rest of the file stays as it is", True, True),
    "unset": ("take a value out of ~/.geode/config.toml", True, True),
    "explain": ("show what every layer says, where, and which wins", True, False),
    "path": ("list the files that are looked at, strongest first", False, False),
}


def add_config(config: argparse.ArgumentParser) -> None:
    actions = config.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (help, takes_key, writes) in _ACTIONS.items():
        action = actions.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        if takes_key:
            action.add_argument("key", metavar="KEY", help="for example model, or sources.openai")
        if name == "set":
            action.add_argument("value", metavar="VALUE")
        if writes:
            action.add_argument("--project", action="store_true", help="in .geode/config.toml of the current directory")
        if name == "explain":
            _add_given(action)
        add_json(action)


def add_about(about: argparse.ArgumentParser) -> None:
    _add_given(about)
    add_json(about)


def add_models(models: argparse.ArgumentParser) -> None:
    models.add_argument("id", metavar="ID", nargs="?", help="one model, and how it would be reached from here")
    add_json(models)


def _add_given(command: argparse.ArgumentParser) -> None:
    command.add_argument("--model", metavar="ID", help="as if geode run had this option")
    command.add_argument("--effort", metavar="WORD", help="as if geode run had this option")
    command.add_argument("--journal", metavar="DIR", help="as if geode run had this option")


def add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="one JSON value on stdout")
