"""The grammar of `geode model`, and what `geode chat --help` says beside its options."""

from __future__ import annotations

import argparse
from typing import Final

ROLES: Final = ("primary", "reflection", "summary")

CHAT_EPILOG: Final = """\
Enter sends, Alt-Enter begins another line, Ctrl-C stops what runs (twice cuts it off) and clears the line at the
prompt, Ctrl-D ends. /help names the commands. Where stdin is no terminal, each of its lines is a prompt or a command.

examples:
  geode chat --model gpt-5.2 --tools app:everything
  printf '%s\\n' "Name a stone." "And another." /cost | geode chat --model gpt-5.2

The exit code is that of the last run.

"""

MODEL_EPILOG: Final = """\
Without ID the picker opens: arrows choose a model and its effort, Tab the role, Space stages, Enter applies all that
is staged, Esc changes nothing. Either way a model that does not take the effort is refused, and so is a pair of a
primary model and another that would inherit an effort that it does not take.

examples:
  geode model
  geode model claude-opus-4-8 --effort high
  geode model gpt-5-mini --role summary
"""


def add_model_command(model: argparse.ArgumentParser) -> None:
    model.add_argument("model", metavar="ID", nargs="?", help="set it without the picker")
    model.add_argument("--role", choices=ROLES, default="primary", help="what the model is for (default primary)")
    effort = model.add_mutually_exclusive_group()
    effort.add_argument("--effort", metavar="WORD", help="the effort of the primary model, in its provider's own words")
    effort.add_argument("--no-effort", action="store_true", help="leave the effort to the provider")
    model.add_argument("--project", action="store_true", help="in .geode/config.toml here, not in ~/.geode/config.toml")
    model.add_argument("--list", action="store_true", help=argparse.SUPPRESS)
