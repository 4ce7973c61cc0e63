"""A hundredth of `make guard N=100000`: whatever a tool returns, what the model reads of it fits and is true."""

from __future__ import annotations

from collections import Counter

from geode.domain.tokens import estimate_tokens
from tests.fuzz.guarding import judged, spec

SEED = 1


def test_whatever_a_tool_returns_fits_and_is_what_it_was() -> None:
    found = [judged(SEED, number) for number in range(1_000)]
    assert [f"--number {number}: {one.wrong}" for number, one in enumerate(found) if one.wrong] == []
    words = Counter(word for one in found for word in one.words)
    for word in ("offloaded", "cut", "as it came", "remedy: keep", "kind: failed", "kind: outcome_unknown"):
        assert words[word] > 50, word
    assert {f"form: {form}" for form in ("text", "JSON", "bytes", "parts", "document", "said already")} <= words.keys()


def test_tokens_are_counted_as_the_specification_says() -> None:
    for text in ("", "abc", "abcd", "abcde", "é", "a世b🎉c", "x" * 70_000 + "é" * 70_000, "é" * 3 + "x" * 2_000_000):
        assert estimate_tokens(text) == spec(text)
