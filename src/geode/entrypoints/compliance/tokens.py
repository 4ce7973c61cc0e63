"""The contract of a function that counts tokens, `session(count_tokens=…)`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final

import pytest

from geode.domain.content import result
from geode.domain.offload import ResultLimits, cut
from geode.domain.tokens import CountTokens
from geode.entrypoints.compliance.contract import Contract, made

TEXTS: Final = {
    "ASCII": "The quick brown fox. ",
    "wide": "Grüße, 世界 🎉 ",
    "one letter": "a",
    "white space": " \n\t",
    "JSON": '{"id":17,"name":"x"},',
    "special": "<|endoftext|><s>",
    "control": "\0\x1b[31m\ufeff",
}


class TokenCounterHarness(ABC):
    """A function that counts."""

    @abstractmethod
    def counter(self) -> CountTokens: ...


class TokenCounterContract(Contract):
    """What it counts is good enough to keep texts within limits."""

    @property
    def count(self) -> Any:
        found: TokenCounterHarness = made(type(self), TokenCounterHarness)
        return found.counter()

    def test_nothing_has_no_tokens(self) -> None:
        assert self.count("") == 0

    @pytest.mark.parametrize("name", TEXTS)
    def test_it_counts_any_text_in_whole_numbers_and_every_time_alike(self, name: str) -> None:
        count, text = self.count, TEXTS[name]
        assert type(count(text)) is int
        assert count(text) == count(text) == self.count(text) > 0

    @pytest.mark.parametrize("name", TEXTS)
    def test_more_text_has_more_tokens(self, name: str) -> None:
        count, text = self.count, TEXTS[name]
        found = [count(text * times) for times in (1, 100, 10_000)]
        assert found[0] <= found[1] < found[2]

    @pytest.mark.parametrize("name", TEXTS)
    def test_the_parts_of_a_text_have_about_as_many_as_the_whole(self, name: str) -> None:
        count, text = self.count, TEXTS[name] * 500
        whole, parts = count(text), count(text[: len(text) // 2]) + count(text[len(text) // 2 :])
        assert abs(whole - parts) <= max(4, whole // 10)

    @pytest.mark.parametrize("name", TEXTS)
    def test_what_is_cut_by_it_fits(self, name: str) -> None:
        count = self.count
        for limit in (128, 1_000):
            shown = cut(result("a", "failed", TEXTS[name] * 20_000), ResultLimits(cut_tokens=limit), count)
            assert count(shown.flagged_text) <= limit
