"""A pattern is refused only where no dialect could read it."""

from __future__ import annotations

import pytest

from geode.domain.regular import well_formed


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "abc",
        "a*b+c?",
        "a+?",
        "^$",
        "(a)",
        "(a(b)c)*",
        "()+",
        "[ab]",
        "[a]*",
        "[*(]",
        "[)]",
        "[a|]+",
        r"\d",
        r"\d*",
        r"ab\(",
        r"\)",
        r"\[",
        r"\*",
        r"[\]*]",
        r"a\\",
        "(?:a)",
        "x(?=a)b",
        "(?<name>a)",
        "a|b",
        "a|(b)*",
        "a|[b]*",
        "|",
        "X*",
        "{2}",
        "a{2,3}",
    ],
)
def test_what_some_dialect_reads(pattern: str) -> None:
    assert well_formed(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        # Brackets that do not pair.
        "(",
        "((a)",
        "(a",
        "a)",
        ")(",
        "(a))(b",
        "[a",
        "[a(]b[",
        r"[\]",
        r"\d)",
        "(?",
        # A backslash that ends it.
        "\\",
        "a\\",
        r"\\" + "\\",
        "[a\\",
        # A quantifier that follows nothing.
        "*",
        "*a",
        "+",
        "?a",
        "(*)",
        "a(+)",
        "(?*a)",
        "a|*",
        "a|?b",
    ],
)
def test_what_none_does(pattern: str) -> None:
    assert not well_formed(pattern)
