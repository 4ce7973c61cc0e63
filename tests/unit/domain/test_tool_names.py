"""What tools of several sources are called: different, fit for every wire, and the same after a restart."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode.domain.tool_names import OwnName, qualified, visible_names
from geode.domain.wire_names import sent_name

# Spec section 12: what every provider takes.
FIT = re.compile(r"[A-Za-z0-9_-]{1,64}")


def named(*pairs: tuple[str, str], taken: tuple[str, ...] = (), prefixed: tuple[str, ...] = ()) -> dict[str, str]:
    found = [OwnName(*pair) for pair in pairs]
    return {f"{own.source}/{own.tool}": name for own, name in visible_names(taken, found, prefixed).items()}


def test_a_name_that_nobody_else_has_stays() -> None:
    assert named(("files", "read-file"), ("db", "read_file")) == {"files/read-file": "read-file", "db/read_file": "read_file"}


def test_two_servers_with_the_same_tool() -> None:
    """Spec section 12: namespaced when two sources clash, both of them."""
    assert named(("a", "search"), ("b", "search"), ("b", "fetch")) == {
        "a/search": "a__search",
        "b/search": "b__search",
        "b/fetch": "fetch",
    }


def test_a_tool_of_the_session_is_never_shadowed() -> None:
    assert named(("browser", "web_search"), taken=("web_search",)) == {"browser/web_search": "browser__web_search"}


def test_a_prefix_by_policy() -> None:
    assert named(("a", "x"), ("b", "y"), prefixed=("b",)) == {"a/x": "x", "b/y": "b__y"}


def test_characters_that_providers_forbid() -> None:
    """Dots, slashes, spaces and Hangul are legal in MCP."""
    names = named(
        *[("s", name) for name in ("calendar.update", "user-profile/update", "Docker problems scanner", "도구")],
    )
    assert all(FIT.fullmatch(name) for name in names.values())
    assert len(set(names.values())) == 4
    assert names["s/calendar.update"].startswith("calendar_update_")


def test_long_names_stay_apart() -> None:
    server, tool = "s" * 40, "t" * 59
    names = named((server, f"{tool}a"), (server, f"{tool}b"), prefixed=(server,))
    assert all(FIT.fullmatch(name) for name in names.values())
    assert len(set(names.values())) == 2


def test_a_prefixed_name_that_is_another_ones_own() -> None:
    """`a` with the tool `b__c`, and `a__b` with the tool `c`, have the same name in front of each other's."""
    names = named(("a", "b__c"), ("a__b", "c"), prefixed=("a", "a__b"))
    assert len(set(names.values())) == 2
    assert all(re.fullmatch(r"a__b__c_[0-9a-f]{10}", name) for name in names.values())


def test_what_tells_them_apart_is_made_of_source_and_tool() -> None:
    """By hand: the first ten digits of the SHA-256 of both with a zero between them, behind at most 53 letters."""
    server, tool = "s" * 30, "t" * 40
    digest = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:10]
    first = f"{server}__{tool}"[:53]
    clash = sent_name(f"{server}__{tool}")
    assert named((server, tool), taken=(tool, clash)) == {f"{server}/{tool}": f"{first}_{digest}"}
    alone = "\ud800"
    marked = named(("a", alone), taken=(sent_name(alone), sent_name(f"a__{alone}")))[f"a/{alone}"]
    assert marked.endswith(hashlib.sha256(b"a\0\xed\xa0\x80").hexdigest()[:10])


def test_a_plain_name_that_looks_prefixed() -> None:
    names = named(("a", "x"), ("b", "x"), ("c", "a__x"))
    assert len(set(names.values())) == 3
    assert names["b/x"] == "b__x"
    assert all(FIT.fullmatch(name) for name in names.values())


def test_a_source_that_knows_the_name_with_digits_takes_it_from_nobody() -> None:
    """Spec section 12: unique, and one failing server never takes down the others."""
    marked = named(("a", "x"), taken=("x", "a__x"))["a/x"]
    hostile = (("b", "x"), ("b", "a__x"), ("b", marked))
    names = named(("a", "x"), *hostile)
    assert len(set(names.values())) == len(names) == 4
    assert FIT.fullmatch(names["a/x"])


def test_a_name_that_looks_like_one_of_another_source() -> None:
    """Also while that source has no tools, so that what was allowed to it by its name is not allowed to this one."""
    found = [OwnName("web", "docs__erase"), OwnName("web", "my_docs__erase"), OwnName("docs", "docs__erase")]
    assert visible_names((), found, sources=["docs", "web", "my docs"]) == {
        OwnName("web", "docs__erase"): "web__docs__erase",
        OwnName("web", "my_docs__erase"): "web__my_docs__erase",
        OwnName("docs", "docs__erase"): "docs__erase",
    }


def test_a_name_of_the_session_that_looks_prefixed() -> None:
    names = named(("a", "x"), taken=("x", "a__x"))
    assert re.fullmatch(r"a__x_[0-9a-f]{10}", names["a/x"])


def test_what_has_no_name_of_its_own_even_then_is_left_out() -> None:
    first = named(("a", "x"), taken=("x", "a__x"))["a/x"]
    assert named(("a", "x"), taken=("x", "a__x", first)) == {}


@pytest.mark.parametrize(
    ("own", "name"), [(OwnName("a", "b"), "a__b"), (OwnName("a-b", "run"), "a-b__run"), (OwnName("a_b", "run"), "a_b__run")]
)
def test_what_a_tool_can_always_be_called(own: OwnName, name: str) -> None:
    assert qualified(own) == name


SHORT = st.text(st.sampled_from("ab_.도"), max_size=4)
OWN = st.builds(OwnName, SHORT, SHORT)


@pytest.mark.random
@given(st.lists(OWN, unique=True, max_size=12), st.sets(st.sampled_from(["a", "b", "a__b", "ab"])), st.randoms())
def test_names_are_fit_and_different_and_do_not_depend_on_the_order(
    found: list[OwnName], taken: set[str], chance: object
) -> None:
    names = visible_names(taken, found)
    assert all(FIT.fullmatch(name) for name in names.values())
    assert len(set(names.values())) == len(names) == len(found)
    assert taken.isdisjoint(names.values())
    assert visible_names(taken, sorted(found, key=lambda own: (own.tool, own.source))) == names
