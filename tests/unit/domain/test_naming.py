"""The name that was probably meant."""

from __future__ import annotations

import pytest

from geode.domain.errors import Misuse
from geode.domain.naming import closest, refuse_unknown


def test_the_closest_names_come_first() -> None:
    # get_hosts has more pairs of letters in common with list_hosts than list_ports has.
    assert closest("net_list_hosts", ["zebra", "net_get_hosts", "net_list_ports"]) == ("net_get_hosts", "net_list_ports")


def test_a_name_with_something_glued_to_it() -> None:
    assert closest('fetch_report" />', ["send_mail", "fetch_report"]) == ("fetch_report",)


def test_a_name_inside_another_is_close_however_long() -> None:
    assert closest("search", ["mcp__a_very_long_server_name__search_in_all_files"]) == (
        "mcp__a_very_long_server_name__search_in_all_files",
    )
    assert closest("mcp__a_very_long_server_name__search_in_all_files", ["search"]) == ("search",)
    assert closest("search", ["aa_search_with_a_very_long_tail", "seaarch"]) == ("seaarch", "aa_search_with_a_very_long_tail")
    # Better looks come before mere containment, which counts as half alike.
    assert closest("search", ["xx_search_and_more_than_that", "searches"]) == ("searches", "xx_search_and_more_than_that")


def test_at_most_three_in_alphabetical_order_among_equals() -> None:
    assert closest("ab", ["ab4", "ab2", "ab1", "ab3", "ab2"]) == ("ab1", "ab2", "ab3")


def test_case_is_no_difference() -> None:
    assert closest("GET_WEATHER", ["get_weather"]) == ("get_weather",)
    assert closest("get_weather", ["GET_WEATHER"]) == ("GET_WEATHER",)


def test_nothing_close() -> None:
    assert closest("weather", ["zip", "mail"]) == ()
    assert closest("weather", []) == ()
    assert closest("", ["a", "ab"]) == ()
    assert closest("a", ["", "b"]) == ()


def test_two_fifths_alike_is_close_enough() -> None:
    # 2 shared pairs of 5 and 5: 2·2/10 = 0.4; of 5 and 6: below.
    assert closest("abcdef", ["abcxyz"]) == ("abcxyz",)
    assert closest("abcdef", ["abcxyzw"]) == ()


def test_the_very_name_comes_before_its_letters_in_another_order() -> None:
    assert closest("ba", ["ab", "ba"]) == ("ba", "ab")
    # And these before a name that shares three pairs of four.
    assert closest("abcde", ["abcdx", "badec"]) == ("badec", "abcdx")


def test_equal_names_without_pairs() -> None:
    assert closest("a", ["a"]) == ("a",)
    assert closest("é", ["É"]) == ("É",)


def test_known_names_pass() -> None:
    refuse_unknown("Policy", ["a", "b"], ["b", "a", "c"])
    refuse_unknown("Policy", [], [])
    with pytest.raises(Misuse):
        refuse_unknown("Policy", ["a", "b"], ["a"])


def test_unknown_names_are_refused_with_the_way_out() -> None:
    with pytest.raises(Misuse) as near:
        refuse_unknown("Thing", ["size", "colour"], ["size", "color"])
    assert str(near.value) == 'Thing has no "colour"; did you mean color? [unknown-name]'
    assert near.value.id == "unknown-name"
    with pytest.raises(Misuse) as far:
        refuse_unknown("Thing", ["zzz"], iter(["size", "color"]))
    assert str(far.value) == 'Thing has no "zzz". Known: size, color [unknown-name]'
