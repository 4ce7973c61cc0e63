"""Names on the wires: the alphabet, one name for one tool, the same each time."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode.domain.wire_names import clash, sent_key, sent_name
from tests.unit.domain.strategies import wild_text

NAMES = re.compile(r"[a-zA-Z0-9_-]{1,64}")
KEYS = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
# The digits are the beginning of the SHA-256 of the name.
LONG = "n" * 65


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("get_weather", "get_weather"),
        ("mcp__fs-1__Read", "mcp__fs-1__Read"),
        ("n" * 64, "n" * 64),
        ('fetch_report" />', "fetch_report_____2a7dc3fee3"),
        ("calendar.update", "calendar_update_a616ce8db6"),
        ("도구", "___36c416ead2"),
        ("", "_e3b0c44298"),
        (" ", "__36a9e7f1c9"),
    ],
)
def test_a_fitting_name_is_itself_and_another_one_has_its_own(name: str, sent: str) -> None:
    """AR-17, SC-11: names of models and of MCP servers are any text."""
    assert sent_name(name) == sent


def test_long_names_that_differ_in_the_last_character_stay_apart() -> None:
    """SC-12: the kind is a name that is cut."""
    one, other = sent_name("s" * 40 + "__" + "t" * 60), sent_name("s" * 40 + "__" + "t" * 59 + "u")
    assert one != other
    assert one[:53] == other[:53] == "s" * 40 + "__" + "t" * 11
    assert {len(one), len(other)} == {64}


def test_a_key_may_hold_a_dot() -> None:
    assert (sent_key("user.name"), sent_name("user.name")[:10]) == ("user.name", "user_name_")
    assert (sent_key("filter[name]"), sent_key("$top")) == ("filter_name__259d8078fe", "_top_81bf98e409")


@given(wild_text | st.text(min_size=60, max_size=80))
def test_any_text_has_a_name_on_the_wire(name: str) -> None:
    assert NAMES.fullmatch(sent_name(name))
    assert KEYS.fullmatch(sent_key(name))
    assert sent_name(sent_name(name)) == sent_name(name)


# Names that differ where sanitising and cutting do not look.
near = st.tuples(st.sampled_from(["read", "x" * 63, "a" * 64]), st.text("./:_- é", max_size=3)).map("".join)


@pytest.mark.random
@pytest.mark.parametrize("sent", [sent_name, sent_key])
def test_different_names_stay_different(sent: Callable[[str], str]) -> None:
    @given(st.sets(near | st.text(max_size=5), max_size=30))
    def apart(names: set[str]) -> None:
        assert len({sent(name) for name in names}) == len(names)

    apart()


def test_a_name_that_looks_like_one_that_was_made_is_told_apart() -> None:
    """SC-13: the one case in which two names can meet is noticed, and both are named."""
    assert clash(["read", "a.b", "a_b"], sent_name) is None
    assert clash(["read", "a.b", sent_name("a.b")], sent_name) == ("a.b", sent_name("a.b"))
    assert clash(["read", "write", "read"], sent_name) == ("read", "read")


def test_a_lone_surrogate_has_a_name_on_the_wire() -> None:
    # printf 'a\xed\xa0\x80' | sha256sum | cut -c1-10
    assert sent_name("a\ud800") == sent_key("a\ud800") == "a__25819b9b43"


def test_a_megabyte_of_name_is_cut_before_anything_else() -> None:
    assert len(sent_name("é" * 1_000_000)) == 64
