"""Patterns: what people write is understood, what is hostile is refused or given up, and long texts are searched whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode.adapters.patterns import compile_pattern
from geode.adapters.patterns.dialect import MAX_PARTS, MAX_PATTERN_CHARS, translated
from geode.adapters.patterns.engine import MAX_CHARS_REPEATED, OVERLAP_CHARS, WINDOW_CHARS
from geode.ports.patterns import PatternTimeout

# (pattern, what it finds, what it does not): ECMA-262, and what Python's `re` takes
UNDERSTOOD = (
    (r"^abc$", "abc", "abc\n"),
    (r"abc\Z", "abc", "abc\n"),
    (r"(?m)^b$", "a\nb\nc", "a\nbb\nc"),
    (r"^a|^b$", "b", "cb"),
    (r"^[$]\$$", "$$", "$"),
    (r"^\/path\/$", "/path/", "path"),
    (r"^\d+$", "42", "x"),
    (r"^\w+$", "Zoë", "a b"),
    (r"^\p{L}+$", "é", "1"),
    (r"^\p{Letter}+$", "é", "1"),
    (r"^\p{Script=Greek}$", "α", "a"),
    (r"^(?<year>\d{4})-\k<year>$", "2026-2026", "2026-2025"),
    (r"^(?P<year>\d{4})-(?P=year)$", "2026-2026", "2026-2025"),
    (r"^(a)\1$", "aa", "ab"),
    (r"^[^]$", "\n", ""),
    (r"^a[]?$", "a", "a]"),
    (r"^[]a]$", "]", "b"),
    (r"^\cA$", "\x01", "A"),
    (r"^\u0041$", "A", "u"),
    (r"^\u{1F600}$", "\U0001f600", "u"),
    (r"^\uD83D\uDE00$", "\U0001f600", "x"),
    (r"^[\u{1F600}-\u{1F64F}]$", "\U0001f600", "u"),
    (r"^[\w-.]$", "-", ","),
    (r"^[.-\w]$", "-", ","),
    (r"^[[]$", "[", "x"),
    (r"^[^[\]]$", "a", "["),
    (r"^[[:alpha:]]$", "a", "1"),
    (r"^{a}$", "{a}", "a"),
    (r"^a{e}$", "a{e}", "b"),
    (r"^a{2,3}$", "aaa", "a"),
    (r"^a{,2}$", "", "aaa"),
    (r"^(?!.*\.\.)[a-z.]+$", "a.b", "a..b"),
    (r"^(?=.*[A-Z])(?=.*\d).{8,64}$", "Passw0rd", "password"),
    (r"^[a-z-]+(?<!-)$", "a-b", "a-"),
    # pydantic's own, for a Decimal
    (r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$", "-1.50", "-"),
    (r"(?i)^abc$", "ABC", "abd"),
    (r"^(?:a(?#a comment with ) b)$", "a b", "a"),
)


@pytest.mark.parametrize(("pattern", "found", "not_found"), UNDERSTOOD, ids=[pattern for pattern, *_ in UNDERSTOOD])
def test_patterns_mean_what_their_writers_mean(pattern: str, found: str, not_found: str) -> None:
    made = compile_pattern(pattern)
    assert made.search(found, seconds=1)
    assert not made.search(not_found, seconds=1)


@pytest.mark.parametrize(
    "pattern",
    [
        "[",
        "(",
        "a)",
        "*",
        "a**",
        "[z-a]",
        "\\",
        r"\k<nobody>",
        r"\u{110000}",
        "(?<a>x)(?<",
        r"\p{Nonsense}",
        "(" * 5_000 + ")" * 5_000,
    ],
)
def test_a_text_that_is_no_pattern_is_a_value_error(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["a{1000000000}", "(?:a{500}){500}", "(" * 20 + "a" + "+)" * 20, "(?:" * 16 + "a" + "){1,9}" * 16, f"a{{{'9' * 5_000}}}"],
)
def test_what_its_compiler_would_never_finish_is_refused_before(pattern: str) -> None:
    with pytest.raises(ValueError, match=f"more than {MAX_PARTS} parts"):
        compile_pattern(pattern)


@pytest.mark.parametrize("flags", ["", "(?i)", "(?x)"])
def test_a_long_pattern_means_what_a_short_one_does(flags: str) -> None:
    long = compile_pattern(f"{flags}^{'ab' * 1_000}(c|d)$")
    assert long.search("ab" * 1_000 + "d", seconds=5)
    assert long.search("AB" * 1_000 + "d", seconds=5) is (flags == "(?i)")
    assert not long.search("ab" * 1_000 + "e", seconds=5)
    assert list(long.find("x\n" + "ab" * 1_000 + "c\n", seconds=5)) == [(2, 2_003)]


def test_a_pattern_has_a_length() -> None:
    assert compile_pattern("a" * MAX_PATTERN_CHARS).search("a" * MAX_PATTERN_CHARS, seconds=5)
    with pytest.raises(ValueError, match=f"at most {MAX_PATTERN_CHARS} characters"):
        compile_pattern("a" * (MAX_PATTERN_CHARS + 1))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^(a|aa)+$", "a" * 5_000 + "!"),
        (r"(?R)a|b", "a" * 2_000),
        (r"^(?:(?:(?:a{1,50}){1,50}){1,50})$", "a" * 5_000 + "!"),
    ],
)
def test_a_search_that_does_not_end_is_given_up(pattern: str, text: str) -> None:
    made = compile_pattern(pattern)
    assert not made.is_quick(text)
    with pytest.raises(PatternTimeout, match="too long"):
        made.search(text, seconds=0.05)
    with pytest.raises(PatternTimeout, match="too long"):
        list(made.find(text, seconds=0.05))


def test_a_quadratic_search_is_given_up_too() -> None:
    with pytest.raises(PatternTimeout, match="too long"):
        compile_pattern(r"\s+$").search(" " * 99_000 + "x", seconds=0.05)


def test_no_time_is_a_timeout() -> None:
    with pytest.raises(PatternTimeout):
        compile_pattern("(a|b)+").search("c", seconds=0)


def test_a_pattern_that_repeats_is_not_tried_on_a_text_of_any_length() -> None:
    assert compile_pattern("^a+$").search("a" * MAX_CHARS_REPEATED, seconds=5)
    with pytest.raises(PatternTimeout, match=f"more than {MAX_CHARS_REPEATED} characters"):
        compile_pattern("^a+$").search("a" * (MAX_CHARS_REPEATED + 1), seconds=5)
    assert compile_pattern(r"\S").search(" " * 1_000_000 + "x", seconds=5)


@pytest.mark.parametrize(
    ("pattern", "text", "quick"),
    [
        ("^[a-z]+$", "word", True),
        ("^[a-z]+$", "w" * 200, False),  # 201² × 3 parts
        ("^(a|aa)+$", "a", False),  # a group that repeats
        ("^(?R)?$", "a", False),
        ("a|b|c|d", "x" * 200, False),
        ("abc", "x" * 10_000, True),
    ],
)
def test_a_search_is_quick_where_its_steps_are_few_whatever_it_meets(pattern: str, text: str, quick: bool) -> None:
    assert compile_pattern(pattern).is_quick(text) is quick


def test_parts_and_choices_are_counted() -> None:
    assert translated("ab[cd]", lines=False).parts == 3
    assert translated("a{10}b", lines=False).parts == 11
    assert translated("(?:ab){10,}", lines=False).parts == 20
    assert translated("((a+)+)+", lines=False).parts == 4
    assert translated("a*b?c{2}|d", lines=False).choices == 4


def test_places_in_the_lines_of_a_text() -> None:
    text = "one error\nno\nerror: two\n"
    assert list(compile_pattern("^error").find(text, seconds=1)) == [(13, 18)]
    assert list(compile_pattern("error$").find(text, seconds=1)) == [(4, 9)]
    assert list(compile_pattern("error").find(text, seconds=1, start=5)) == [(13, 18)]
    assert list(compile_pattern("nothing").find(text, seconds=1)) == []
    assert list(compile_pattern("x").find("", seconds=1)) == []


@pytest.mark.parametrize("line_end", ["\n", ""])
def test_a_text_of_many_windows_is_searched_as_one(line_end: str) -> None:
    text = "".join(f"<{at:06}>{line_end}" for at in range(WINDOW_CHARS))
    found = [text[begin:end] for begin, end in compile_pattern(r"<\d+>").find(text, seconds=60)]
    assert found == [f"<{at:06}>" for at in range(WINDOW_CHARS)]


@given(st.integers(-8, 8), st.integers(1, 8), st.sampled_from(["\n", "-"]))
def test_a_match_across_the_end_of_a_window_is_found_once(before: int, length: int, sign: str) -> None:
    text = sign * (WINDOW_CHARS + before) + "a" * length + sign * (2 * WINDOW_CHARS)
    place = WINDOW_CHARS + before
    assert list(compile_pattern("a+").find(text, seconds=60)) == [(place, place + length)]


def test_the_end_of_a_window_is_no_end_of_a_line() -> None:
    text = "a" * (2 * WINDOW_CHARS) + "b"
    assert list(compile_pattern("a$").find(text, seconds=60)) == []
    assert list(compile_pattern("^b").find(text, seconds=60)) == []
    assert list(compile_pattern("b$").find(text, seconds=60)) == [(2 * WINDOW_CHARS, 2 * WINDOW_CHARS + 1)]
    assert OVERLAP_CHARS < WINDOW_CHARS


@given(st.text("ab01()[]{}*+?|^$\\.-,:=!<>PRkpudNnsx \n", max_size=40), st.text("ab01\n", max_size=40))
def test_any_text_is_a_pattern_or_a_value_error_and_any_search_ends(pattern: str, text: str) -> None:
    try:
        made = compile_pattern(pattern)
    except ValueError:
        return
    try:
        assert made.search(text, seconds=0.05) in {True, False}
        assert all(0 <= begin <= end <= len(text) for begin, end in made.find(text, seconds=0.05))
    except PatternTimeout:
        assert not made.is_quick(text)


def test_what_is_searched_from_the_end_is_found_in_order_and_whole() -> None:
    assert list(compile_pattern("(?r)o").find("foo\nbar o", seconds=1)) == [(1, 2), (2, 3), (8, 9)]
