"""`geode model`: the picker, or setting a model without it, by the same rules."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import replace

from geode.domain.effort import effort_problem
from geode.domain.errors import Misuse
from geode.domain.picking import Applied, Chosen, ModelChoice, opened, problems
from geode.entrypoints.cli.extras import needs
from geode.entrypoints.cli.model_settings import choice_of, choices, save, stored


def model_command(arguments: Namespace) -> int:
    """Set what is named, or what is picked."""
    if arguments.list:
        raise Misuse("no-terminal", "geode model sets models; geode models lists them")
    before = stored()
    chosen = _picked(before, arguments) if arguments.model is None else _named(before, arguments)
    changes = {} if chosen is None else chosen.changes_from(before)
    if not changes:
        print("nothing changed")
        return 0
    for line in save(changes, project=arguments.project):
        print(line)
    return 0


def _picked(before: Chosen, arguments: Namespace) -> Chosen | None:
    if arguments.effort is not None or arguments.no_effort or arguments.role != "primary":
        raise Misuse("option-alone", "--role, --effort and --no-effort say nothing without a model: geode model ID …")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Misuse(
            "no-terminal", "geode model opens a picker on a terminal, and here is none: geode model ID [--effort WORD]"
        )
    needs("prompt_toolkit", "geode model", "cli")
    from geode.entrypoints.cli.picker import picking

    found = picking(opened(choices(), before)).run()
    return found.chosen if isinstance(found, Applied) else None


def _named(before: Chosen, arguments: Namespace) -> Chosen:
    """What would be stored. Misuse where a rule is against it."""
    choice = choice_of(arguments.model)
    if choice.unusable:
        raise Misuse("model-choice", f"{choice.id} cannot be used: {choice.unusable}")
    chosen = before.with_model(arguments.role, choice.id)
    if arguments.role != "primary" and (arguments.effort is not None or arguments.no_effort):
        raise Misuse("option-alone", "--effort is that of the primary model; the others inherit it")
    if arguments.no_effort:
        chosen = replace(chosen, effort=None)
    if arguments.effort is not None:
        chosen = replace(chosen, effort=arguments.effort)
        # Said here and now, it is explicit also where it is the stored one.
        _refuse(effort_problem(choice.id, choice.efforts, arguments.effort))
    for problem in problems(chosen, before, _known(chosen)):
        _refuse(problem)
    return chosen


def _refuse(problem: str) -> None:
    if problem:
        raise Misuse("model-choice", f"{problem}. Give --effort WORD, or --no-effort")


def _known(chosen: Chosen) -> dict[str, ModelChoice]:
    return {id: choice_of(id) for id in (chosen.model, chosen.reflection_model, chosen.summary_model) if id is not None}
