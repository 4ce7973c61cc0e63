"""A tenth of `make big-results`: a model finds a needle in what it never read, in little memory."""

from __future__ import annotations

import sys
from typing import get_args

import pytest

from tests.big_results import SIZES, Form, Store, measured

# Only Linux tells what a process held at most since some moment.
FORMS: tuple[Form, ...] = get_args(Form) if sys.platform == "linux" else ()


@pytest.mark.parametrize("store", get_args(Store))
@pytest.mark.parametrize("form", FORMS)
def test_the_needle_is_found_in_two_calls_and_nothing_is_left(form: Form, store: Store) -> None:
    figures = measured(form, store, SIZES[form] // 10)
    assert figures.wrong == []
    assert (figures.recalls, figures.found, figures.left) == (2, True, 0)
    assert figures.summary_characters < 700
