"""Named sets of tools: what is in, what is out, and what is no set."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.errors import Misuse
from geode.domain.toolkits import Toolkit, as_toolkits, in_force, unknown_in

READING = Toolkit("reading", allow=["get_*", "docs__*"], deny=["get_secret"])
WRITING = Toolkit("writing", allow=["put"])
NO_SECRETS = Toolkit("no secrets", deny=["*secret*"])


@pytest.mark.parametrize(
    ("toolkits", "names", "inside"),
    [
        ((), {"anything"}, True),
        ((READING,), {"get_user"}, True),
        ((READING,), {"put"}, False),
        ((READING,), {"get_secret"}, False),
        ((READING,), {"search", "docs__search"}, True),
        ((READING,), {"search", "web__search"}, False),
        ((READING,), {"forget_user"}, False),
        ((WRITING,), {"put"}, True),
        ((WRITING,), {"put_all"}, False),
        ((READING, WRITING), {"put"}, True),
        ((READING, WRITING), {"get_user"}, True),
        ((READING, WRITING), {"get_secret"}, False),
        ((NO_SECRETS,), {"put"}, True),
        ((NO_SECRETS,), {"a_secret_b"}, False),
        ((WRITING, Toolkit("never", allow=[], deny=["put"])), {"put"}, False),
        ((Toolkit("nothing", allow=[]),), {"put"}, False),
        ((Toolkit("a dot is a dot", allow=["a.b"]),), {"axb"}, False),
        ((Toolkit("lines", allow=["a*b"]),), {"a\nb"}, True),
    ],
)
def test_what_is_in_force(toolkits: tuple[Toolkit, ...], names: set[str], inside: bool) -> None:
    """One of them allows it and none denies it; a tool of a source has its name with the source's in front, too."""
    assert in_force(toolkits, names) is inside


def test_a_further_name_denies_and_never_allows() -> None:
    only, without = Toolkit("only", allow=["erase"]), Toolkit("without", deny=["erase"])
    assert not in_force((only,), {"docs__erase"}, {"erase"})
    assert not in_force((without,), {"docs__erase"}, {"erase"})
    assert in_force((without,), {"docs__fetch"}, {"fetch"})


@pytest.mark.parametrize(
    ("value", "several"),
    [(None, ()), (READING, (READING,)), ([READING, WRITING], (READING, WRITING)), ((READING,), (READING,)), ([], ())],
)
def test_one_or_several(value: object, several: tuple[Toolkit, ...]) -> None:
    assert as_toolkits(value) == several


@pytest.mark.parametrize("value", ["reading", ["get_user"], 1, [READING, "put"], {"allow": []}])
def test_what_is_no_toolkit(value: object) -> None:
    with pytest.raises(Misuse, match=r"^toolkit= takes a Toolkit, a list of them, or a function.*\[toolkit\]$"):
        as_toolkits(value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": " "}, "a toolkit has a name"),
        ({"name": 1}, "a toolkit has a name"),
        ({"name": "a", "allow": "get_user"}, r"Toolkit\('a', allow=…\) takes a list of names"),
        ({"name": "a", "deny": 7}, r"Toolkit\('a', deny=…\) takes a list of names"),
        ({"name": "a", "allow": ["x", ""]}, r"Toolkit\('a', allow=…\) takes names of tools, got ''"),
        ({"name": "a", "deny": [None]}, r"Toolkit\('a', deny=…\) takes names of tools, got None"),
    ],
)
def test_what_a_toolkit_refuses(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(Misuse, match=f"{message}.*\\[toolkit\\]$"):
        Toolkit(**arguments)


def test_a_toolkit_is_what_it_was_when_it_was_made() -> None:
    names = ["x"]
    toolkit = Toolkit("a", allow=names, deny=names)
    names.append("y")
    assert (toolkit.allow, toolkit.deny) == (("x",), ("x",))
    assert Toolkit("a").allow is None


@pytest.mark.parametrize(
    ("toolkit", "unknown"),
    [
        (Toolkit("a", allow=["x", "y*"]), None),
        (Toolkit("a", allow=["x", "z"]), "z"),
        (Toolkit("a", deny=["z"]), "z"),
        (Toolkit("a", allow=["q*"], deny=["x"]), None),
    ],
)
def test_a_name_that_is_no_tools(toolkit: Toolkit, unknown: str | None) -> None:
    assert unknown_in((toolkit,), {"x", "y1"}) == (None if unknown is None else (toolkit, unknown))
