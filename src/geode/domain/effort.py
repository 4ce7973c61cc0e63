"""What an effort word may be said to (spec section 9). It is sent as it was chosen, or refused: never raised or lowered.

What a model takes is `efforts`: words, weakest first; `()` where it has no effort control, None where nothing is
known of it. Equal words of two models do not mean equal computation: the order of the words serves the arrows of
the picker and nothing else.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Efforts: TypeAlias = tuple[str, ...] | None
Step: TypeAlias = Literal[1, -1]

# Every word of the providers, weakest first: where an arrow goes from a word that the model does not have.
LADDER: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def effort_problem(model: str, efforts: Efforts, effort: str | None) -> str:
    """Why `model` cannot be given the explicit `effort`; "" where it can, or where nothing is known of it."""
    if effort is None or efforts is None or effort in efforts:
        return ""
    if not efforts:
        return f"{model} takes no effort; leave it out"
    return f'{model} takes no effort "{effort}"; it takes {", ".join(efforts)}'


def inherited(efforts: Efforts, effort: str | None) -> str | None:
    """What of an inherited effort goes to a model: it stays as it is, or is left out for a model that has no effort
    control, or is not known to have one."""
    return effort if efforts else None


def choice_problem(model: str, efforts: Efforts, effort: str | None, stored: str | None) -> str:
    """Why `model` cannot be chosen with `effort`. One that is stored already is inherited, any other is explicit."""
    return effort_problem(model, efforts, inherited(efforts, effort) if effort == stored else effort)


def pair_problem(primary: str, effort: str | None, other: str, efforts: Efforts) -> str:
    """Why `other`, which inherits the effort of `primary`, cannot be used beside it; "" where it can."""
    if not efforts or effort is None or effort in efforts:
        return ""
    return f'{other} would inherit the effort "{effort}" of {primary}; it takes {", ".join(efforts)}'


def next_effort(efforts: tuple[str, ...], current: str | None, step: Step, default: str | None = None) -> str | None:
    """The word that an arrow goes to, around the ends; None where there is none.

    From a word that the model does not have it is the next one in that direction; from no word, what the
    model does by itself where that is known.
    """
    if not efforts:
        return None
    if current in efforts:
        return efforts[(efforts.index(current) + step) % len(efforts)]
    if current is None and default in efforts:
        return default
    ordered = efforts if step == 1 else efforts[::-1]
    if current not in LADDER:
        return ordered[0]
    place = LADDER.index(current)
    beyond = LADDER[place + 1 :] if step == 1 else LADDER[:place]
    return next((word for word in ordered if word in beyond), ordered[0])
