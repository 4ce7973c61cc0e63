"""What is cut and summed up, to the letter, where every letter is a token."""

from __future__ import annotations

import json
from typing import Any

import pytest

from geode.domain.errors import Misuse
from geode.domain.offload import ResultLimits, cut_text, summary
from geode.domain.policy import Policy
from geode.domain.shape import shape_of

LINE = "\n[… {} of 5000 characters are left out here …]\n"
ALL_OUT = LINE.format(5000)


def letters(text: str) -> int:
    return len(text)


def test_all_the_room_is_used() -> None:
    """Two thirds of it for the head, the rest for the tail."""
    room = 300 - len(ALL_OUT)
    head, out = int(room * 2 / 3), 5000 - room
    assert cut_text("a" * 2500 + "z" * 2500, 300, letters) == "a" * head + LINE.format(out) + "z" * (room - head)


@pytest.mark.parametrize(
    ("more", "shown"),
    [(-9, ALL_OUT.strip()), (0, ALL_OUT.strip()), (1, LINE.format(4999) + "z"), (2, "a" + LINE.format(4998) + "z")],
)
def test_the_line_is_all_that_is_left_where_there_is_no_room_for_more(more: int, shown: str) -> None:
    assert cut_text("a" * 2500 + "z" * 2500, len(ALL_OUT) + more, letters) == shown


@pytest.mark.parametrize("surplus", [1, 7])
def test_what_a_counter_finds_more_in_the_whole_is_left_out_and_no_more(surplus: int) -> None:
    def count(text: str) -> int:
        return len(text) + (surplus if "[…" in text and len(text) > 100 else 0)

    assert count(cut_text("x" * 5000, 300, count)) == 300


# Twelve keys, more than a third of a summary long and less than half of it.
KEYS = [f"key_{number:02}" for number in range(9)] + ["x" * 30, "y" * 30, "z"]
TEXT = json.dumps({**dict.fromkeys(KEYS, 1), "z": "v" * 1000})


def test_a_shape_of_less_than_half_a_summary_is_told_whole() -> None:
    assert 134 <= len(shape_of(TEXT)) <= 200
    assert summary(TEXT).startswith(f"{shape_of(TEXT)}\n")


def test_a_shape_is_cut_at_half_a_summary() -> None:
    length = len(shape_of(TEXT))
    assert summary(TEXT, 2 * length).startswith(f"{shape_of(TEXT)}\n")
    assert summary(TEXT, 2 * length + 1).startswith(f"{shape_of(TEXT)}\n")
    assert summary(TEXT, 2 * length - 1).startswith(f"{shape_of(TEXT)[: length - 2]}…\n")


POLICY: Any = Policy


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"result_limits": "cut"}, "Policy.result_limits must be ResultLimits(…), got str"),
        ({"result_limits_of": {"a": 7}}, "Policy.result_limits_of['a'] must be ResultLimits(…), got int"),
        ({"result_limits_of": []}, "Policy.result_limits_of maps names of tools to ResultLimits"),
        ({"oversize_images": "crop"}, 'Policy.oversize_images is "resize" or "refuse", got \'crop\''),
    ],
)
def test_a_policy_that_is_none_says_what_would_be(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(Misuse) as caught:
        POLICY(**settings)
    assert str(caught.value) == f"{said} [policy-value]"
    assert caught.value.id == "policy-value"


def test_limits_of_one_tool_and_both_ways_with_pictures_are_taken() -> None:
    own = ResultLimits(remedy="cut")
    assert Policy(result_limits_of={"a": own}).result_limits_of == {"a": own}
    assert [Policy(oversize_images=word).oversize_images for word in ("resize", "refuse")] == ["resize", "refuse"]
