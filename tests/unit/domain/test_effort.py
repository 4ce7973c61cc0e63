"""Effort words: sent as chosen or refused, left out where they are inherited and there is no control (spec section 9)."""

from __future__ import annotations

import pytest

from geode.domain.effort import Efforts, Step, choice_problem, effort_problem, inherited, next_effort, pair_problem

THREE = ("low", "medium", "high")
OPUS_4_6 = ("low", "medium", "high", "max")
GLM = ("low", "high", "max")


@pytest.mark.parametrize(
    ("efforts", "effort", "problem"),
    [
        (THREE, "high", ""),
        (THREE, None, ""),
        ((), None, ""),
        (None, "whatever", ""),
        (THREE, "max", 'm takes no effort "max"; it takes low, medium, high'),
        (THREE, "High", 'm takes no effort "High"; it takes low, medium, high'),
        ((), "low", "m takes no effort; leave it out"),
    ],
)
def test_an_explicit_effort_is_taken_or_refused(efforts: Efforts, effort: str | None, problem: str) -> None:
    assert effort_problem("m", efforts, effort) == problem


@pytest.mark.parametrize(
    ("efforts", "effort", "sent"),
    [(THREE, "low", "low"), (THREE, "max", "max"), ((), "low", None), (None, "low", None), (THREE, None, None)],
)
def test_an_inherited_effort_is_left_out_where_no_control_is_known(
    efforts: Efforts, effort: str | None, sent: str | None
) -> None:
    assert inherited(efforts, effort) == sent


@pytest.mark.parametrize(
    ("efforts", "effort", "stored", "fits"),
    [
        ((), "high", "high", True),
        ((), "high", "low", False),
        ((), "high", None, False),
        ((), None, "high", True),
        (THREE, "high", "high", True),
        (THREE, "high", "low", True),
        (THREE, "max", "max", False),
        (THREE, "max", "low", False),
        (None, "max", "low", True),
    ],
)
def test_a_stored_effort_is_inherited_and_a_new_one_is_explicit(
    efforts: Efforts, effort: str | None, stored: str | None, fits: bool
) -> None:
    assert (choice_problem("m", efforts, effort, stored) == "") is fits


@pytest.mark.parametrize(
    ("efforts", "effort", "problem"),
    [
        (THREE, "low", ""),
        ((), "max", ""),
        (None, "max", ""),
        (THREE, None, ""),
        (THREE, "max", 'r would inherit the effort "max" of p; it takes low, medium, high'),
    ],
)
def test_a_pair_fits_or_does_not(efforts: Efforts, effort: str | None, problem: str) -> None:
    assert pair_problem("p", effort, "r", efforts) == problem


@pytest.mark.parametrize(
    ("efforts", "current", "step", "found"),
    [
        (THREE, "low", 1, "medium"),
        (THREE, "medium", -1, "low"),
        (THREE, "high", 1, "low"),
        (THREE, "low", -1, "high"),
        (OPUS_4_6, "xhigh", 1, "max"),
        (OPUS_4_6, "xhigh", -1, "high"),
        (GLM, "medium", 1, "high"),
        (GLM, "medium", -1, "low"),
        (THREE, "max", 1, "low"),
        (THREE, "max", -1, "high"),
        (THREE, "none", 1, "low"),
        (THREE, "none", -1, "high"),
        (THREE, "turbo", 1, "low"),
        (THREE, "turbo", -1, "high"),
        (("eco", "low"), "none", 1, "low"),
        ((), "low", 1, None),
    ],
)
def test_an_arrow_goes_to_the_next_word_of_the_model_in_its_direction(
    efforts: tuple[str, ...], current: str, step: Step, found: str | None
) -> None:
    assert next_effort(efforts, current, step) == found


def test_an_arrow_goes_from_no_word_to_what_the_model_does_by_itself() -> None:
    assert next_effort(THREE, None, 1, "medium") == "medium"
    assert next_effort(THREE, None, -1, "medium") == "medium"
    assert next_effort(THREE, None, 1) == "low"
    assert next_effort(THREE, None, -1, "max") == "high"
