"""Results that are too long: what counts as a token, when what is done, and what the model reads then (spec section 5)."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.content import Document, Image, ResultKind, Text, ToolResult, result
from geode.domain.errors import Misuse
from geode.domain.offload import (
    RECALL,
    ResultLimits,
    cut,
    cut_text,
    is_ref,
    measured,
    named,
    named_in,
    new_ref,
    offloaded,
    remedy_for,
    summary,
)
from geode.domain.policy import Policy
from geode.domain.shape import shape_of
from geode.domain.tokens import estimate_tokens, exceeds, longest_head, longest_tail
from geode.domain.turns import AssistantTurn, ToolResultsTurn

REF = new_ref(bytes(range(16)))
PNG = Image("image/png", b"\x89PNG\r\n\x1a\n")
SMALL = ResultLimits(offload_tokens=200, cut_tokens=300)


def letters(text: str) -> int:
    """A counter for which every letter is a token."""
    return len(text)


# ---- tokens --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("é", 1),
        ("世界", 2),
        ("🎉", 1),
        ("abcdé", 2),
        ("aé", 2),
        ("éabc", 2),
        ("\ud800", 1),
    ],
)
def test_four_ascii_characters_are_a_token_and_any_other_character_is_one(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_a_long_text_is_counted_like_a_short_one() -> None:
    assert estimate_tokens("abcd" * 1_000_000) == 1_000_000
    assert estimate_tokens("aaaé" * 1_000_000) == 1_750_000


@pytest.mark.parametrize(("text", "limit", "more"), [("a" * 400, 100, False), ("a" * 401, 100, True), ("é" * 101, 100, True)])
def test_more_than_a_limit_is_more_than_it(text: str, limit: int, more: bool) -> None:
    assert exceeds(text, limit) is more


def test_a_limit_of_nothing_has_room_for_nothing() -> None:
    assert [exceeds("", 0), exceeds("a", 0), exceeds("", -1)] == [False, True, True]


def test_no_more_is_counted_than_needed() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text)

    assert exceeds("x" * 50_000_000, 1_000, count)
    assert sum(counted) <= 65_536


def test_a_text_of_few_tokens_is_counted_to_its_end() -> None:
    assert not exceeds(" " * 1_000_000, 100, lambda text: 1 if text else 0)
    assert exceeds(" " * 10_000_000, 100, lambda text: 1 if text else 0)


@pytest.mark.parametrize("text", ["a" * 5_000, "é" * 5_000, "aé" * 2_500, "a" * 2_500 + "é" * 2_500, "é" * 2_500 + "a" * 2_500])
def test_the_longest_ends_of_a_text_that_fit(text: str) -> None:
    for limit in (1, 7, 100, 999):
        for part in (longest_head(text, limit), longest_tail(text, limit)):
            assert estimate_tokens(part) <= limit
            # Nearly as much as there is room for.
            assert estimate_tokens(part) >= limit - 1 - limit // 16
        assert text.startswith(longest_head(text, limit))
        assert text.endswith(longest_tail(text, limit))


def test_a_text_of_which_little_is_one_token_is_counted_as_a_whole() -> None:
    """In pieces it would be a token more."""
    text = "éé" + "a" * 65_536
    assert estimate_tokens(text) == 2 + 16_384
    assert not exceeds(text, 16_386)
    assert exceeds(text, 16_385)


def test_a_text_of_which_much_is_one_token_is_counted_in_pieces() -> None:
    ten_pieces = " " * 655_360
    assert not exceeds(ten_pieces, 10, lambda text: 1)
    assert exceeds(ten_pieces, 9, lambda text: 1)


@pytest.mark.parametrize("limit", [1, 2, 10, 49, 50, 51])
def test_short_ends_are_the_longest_to_the_letter(limit: int) -> None:
    text = "abcde" * 10
    assert longest_head(text, limit, letters) == text[:limit]
    assert longest_tail(text, limit, letters) == text[-limit:]


def test_where_one_letter_is_too_much_none_is_left() -> None:
    assert longest_head("abc", 1, lambda text: 2 * len(text)) == ""
    assert longest_tail("abc", 1, lambda text: 2 * len(text)) == ""


def test_where_nothing_fits_nothing_is_left() -> None:
    assert [longest_head("abc", 0), longest_tail("abc", -1), longest_head("", 5)] == ["", "", ""]


# ---- limits --------------------------------------------------------------------------------------


def test_the_numbers_of_the_specification() -> None:
    limits = Policy().result_limits
    assert limits == ResultLimits(remedy="offload", offload_tokens=15_000, cut_tokens=25_000, share_of_window=0.05)
    assert Policy().result_seconds == 4 * 60 * 60


@pytest.mark.parametrize(
    ("window", "offload", "cut_at"),
    [
        (None, 15_000, 25_000),
        (1_000_000, 15_000, 25_000),
        (400_000, 15_000, 20_000),
        (200_000, 10_000, 10_000),
        (1_000, 128, 128),
    ],
)
def test_no_limit_is_more_than_a_twentieth_of_the_window(window: int | None, offload: int, cut_at: int) -> None:
    limits = ResultLimits().within(window)
    assert (limits.offload_tokens, limits.cut_tokens) == (offload, cut_at)


@pytest.mark.parametrize(
    "wrong",
    [
        {"remedy": "drop"},
        {"offload_tokens": 127},
        {"cut_tokens": 0},
        {"cut_tokens": True},
        {"offload_tokens": 200.0},
        {"share_of_window": 0},
        {"share_of_window": 1.1},
        {"share_of_window": "5 %"},
    ],
)
def test_limits_that_are_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(Misuse, match=next(iter(wrong))) as caught:
        ResultLimits(**wrong)
    assert caught.value.id == "policy-value"


@pytest.mark.parametrize(
    "wrong", [{"result_limits": "cut"}, {"result_limits_of": {"a": "cut"}}, {"result_limits_of": []}, {"result_seconds": 0}]
)
def test_policies_that_are_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(Misuse, match=next(iter(wrong))):
        Policy(**wrong)


def test_a_whole_window_may_be_the_limit() -> None:
    assert ResultLimits(share_of_window=1).within(1_000).cut_tokens == 1_000


# ---- what is done --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "remedy"), [(14_999, "keep"), (15_000, "offload"), (25_000, "offload"), (25_001, "offload"), (99_999, "offload")]
)
def test_from_fifteen_thousand_tokens_on_it_is_offloaded(tokens: int, remedy: str) -> None:
    assert remedy_for(result("a", "ok", "abcd" * tokens), ResultLimits()) == remedy


@pytest.mark.parametrize(("tokens", "remedy"), [(15_000, "keep"), (25_000, "keep"), (25_001, "cut")])
def test_over_twenty_five_thousand_it_is_cut_where_it_is_not_to_be_kept(tokens: int, remedy: str) -> None:
    assert remedy_for(result("a", "ok", "abcd" * tokens), ResultLimits(remedy="cut")) == remedy


def test_the_flag_of_an_error_counts() -> None:
    """`failed: ` is 2 tokens, on the wires that say it in the text."""
    limits = ResultLimits(remedy="cut")
    assert remedy_for(result("a", "failed", "abcd" * 24_998), limits) == "keep"
    assert remedy_for(result("a", "failed", "abcd" * 24_999), limits) == "cut"


def test_what_is_to_be_kept_whole_is() -> None:
    assert remedy_for(result("a", "ok", "abcd" * 99_999), ResultLimits(remedy="keep")) == "keep"


@pytest.mark.parametrize(("remedy", "done"), [("offload", "offload"), ("cut", "cut")])
def test_the_counter_that_is_given_decides(remedy: Any, done: str) -> None:
    limits = ResultLimits(remedy=remedy, offload_tokens=200, cut_tokens=200)
    assert remedy_for(result("a", "ok", "x" * 201), limits, letters) == done
    assert remedy_for(result("a", "ok", "x" * 201), limits) == "keep"


def test_pictures_are_not_text() -> None:
    big = Image("image/png", b"\x89PNG\r\n\x1a\n" + bytes(4_000_000))
    assert remedy_for(ToolResult("a", "ok", (big, Text("done"))), ResultLimits()) == "keep"


def test_a_plain_text_is_text_though_it_is_a_document() -> None:
    long = Document("text/plain", b"abcd" * 20_000, "log.txt")
    came = ToolResult("a", "ok", (Text("see"), long, PNG))
    assert measured(came.content) == "see\n" + "abcd" * 20_000
    assert remedy_for(came, ResultLimits()) == "offload"
    shown = offloaded(came, REF, ResultLimits())
    assert shown is not None
    assert shown.content[1:] == (PNG,)
    assert cut(came, SMALL).content[1:] == (PNG,)


# ---- cut -----------------------------------------------------------------------------------------


def test_a_cut_text_keeps_its_head_and_its_tail_and_says_how_much_is_gone() -> None:
    text = "".join(f"line {number:06}\n" for number in range(10_000))
    shown = cut_text(text, 1_000)
    head, _, rest = shown.partition("\n[… ")
    said, _, tail = rest.partition(" are left out here …]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert said == f"{len(text) - len(head) - len(tail)} of {len(text)} characters"
    assert 900 < estimate_tokens(shown) <= 1_000
    assert len(head) > len(tail) > 1_000


def test_what_fits_is_not_cut() -> None:
    assert cut_text("abcd" * 1_000, 1_000) == "abcd" * 1_000


@pytest.mark.parametrize("kind", ["ok", "failed", "denied", "interrupted", "outcome_unknown"])
def test_a_cut_result_is_what_it_was_and_fits_with_its_flag(kind: ResultKind) -> None:
    came = ToolResult("a", kind, (Text("failed: x" * 9_999), PNG), "for the operator", recoverable=False)
    shown = cut(came, SMALL)
    assert (shown.call_id, shown.kind, shown.detail, shown.recoverable) == ("a", kind, "for the operator", False)
    assert shown.media == (PNG,)
    assert 280 < estimate_tokens(shown.flagged_text) <= 300


def test_a_counter_that_finds_more_in_the_whole_than_in_its_parts_is_believed() -> None:
    def count(text: str) -> int:
        return len(text) + (50 if "[…" in text and len(text) > 100 else 0)

    shown = cut_text("x" * 10_000, 300, count)
    assert count(shown) <= 300
    assert shown.startswith("x")
    assert shown.endswith("x")


def test_a_counter_that_finds_one_more_in_the_whole_is_believed_too() -> None:
    def count(text: str) -> int:
        return len(text) + (text.count("[…") and len(text) > 100)

    assert 280 < count(cut_text("x" * 10_000, 300, count)) <= 300


def test_the_counter_that_is_given_cuts() -> None:
    assert 190 < len(cut_text("x" * 300, 200, letters)) <= 200
    shown = cut(ToolResult("a", "failed", (Text("x" * 999),), ref_id=REF), ResultLimits(cut_tokens=200), letters)
    assert 190 < len(shown.flagged_text) <= 200
    assert shown.ref_id == "", "what was cut is kept nowhere"


def test_a_counter_that_makes_no_sense_never_has_anything_shown_twice() -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 160)))
    shown = cut_text(text, 500, lambda one: 1_000 if one == text else 0)
    head, _, rest = shown.partition("\n[… ")
    said, _, tail = rest.partition(" of 160 characters are left out here …]\n")
    assert len(head) > 150
    assert text.startswith(head)
    assert text.endswith(tail)
    assert int(said) == 160 - len(head) - len(tail) >= 0


def test_where_there_is_room_for_nothing_else_it_still_says_so() -> None:
    assert cut_text("x" * 9_999, 20, letters) == "[… 9999 of 9999 characters are left out here …]"


def test_no_character_is_cut_in_two() -> None:
    shown = cut_text("🎉" * 9_999, 200)
    assert shown.encode().decode() == shown
    assert set(shown) >= {"🎉"}


# ---- offload -------------------------------------------------------------------------------------


def test_what_the_model_reads_of_an_offloaded_result() -> None:
    text = '{"rows":[' + ",".join(f'{{"id":{number}}}' for number in range(9_999)) + '],"total":9999}'
    shown = offloaded(result("a", "failed", text), REF, ResultLimits())
    assert shown is not None
    assert (shown.kind, shown.ref_id) == ("failed", REF)
    first, kind, *_, last = shown.text.split("\n")
    size = f"{len(text)} characters, about {-(-len(text) // 4)} tokens"
    assert first == f"This result is too long to show. It is kept whole as {REF}: {size}."
    assert kind == "JSON object: rows[], total"
    assert last == f"Read parts of it, or search it, with {RECALL}."
    assert text[:100] in shown.text
    assert text[-60:] in shown.text


@pytest.mark.parametrize(
    "text", ["", "x", "x" * 400, "x" * 9_999, "é" * 9_999, '{"' + "k" * 9_999 + '":1}', "[" * 9_999, "\n" * 9_999]
)
def test_a_summary_has_four_hundred_characters_at_most(text: str) -> None:
    assert len(summary(text)) <= 400


def test_the_flag_and_the_counter_count_for_a_summary_too() -> None:
    shown = offloaded(result("a", "outcome_unknown", "x" * 9_999), REF, ResultLimits(offload_tokens=300), letters)
    assert shown is not None
    assert 290 < len(shown.flagged_text) <= 300


def test_many_long_keys_leave_room_for_the_text() -> None:
    text = "{" + ",".join(f'"{number:02}{"k" * 38}":1' for number in range(12)) + "}" + " " * 400
    shape, _, rest = summary(text).partition("\n")
    assert len(shape) == 200
    assert shape.startswith("JSON object: 00kkk")
    assert shape.endswith("k…")
    assert rest.startswith('{"00kkk')
    assert len(summary(text)) == 400


def test_a_summary_shows_all_of_what_there_is_room_for() -> None:
    """400 characters without the first line, its end, and the sign for what is missing."""
    whole = "x" * (400 - len("text, 1 line") - len("\n") - len("\n…\n"))
    assert summary(whole) == f"text, 1 line\n{whole}"
    assert "…" in summary(whole + "x")


def test_the_shape_has_half_of_a_summary() -> None:
    assert summary("abc", 2 * len("text, 1 line")) == "text, 1 line\nabc"


def test_a_short_text_is_its_own_summary() -> None:
    assert summary("one\ntwo") == "text, 2 lines\none\ntwo"


def test_a_summary_is_shortened_to_the_limit_and_given_up_where_that_is_not_enough() -> None:
    came = result("a", "ok", "é" * 9_999)
    shown = offloaded(came, REF, ResultLimits(offload_tokens=150))
    assert shown is not None
    assert 140 <= estimate_tokens(shown.text) <= 150
    assert offloaded(came, REF, ResultLimits(offload_tokens=150), letters) is None


# ---- shapes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("plain", "text, 1 line"),
        ("two\nlines\n", "text, 2 lines"),
        ("", "text, 1 line"),
        ('{"a":1,"b":[1,{"c":2}],"d":{"e":{}}}', "JSON object: a, b[], d{}"),
        (' {\n "a" : "x:y,{}" , "b":null}', "JSON object: a, b"),
        ('{"a\\"b":"\\\\","c":"}"}', 'JSON object: a\\"b, c'),
        ('[{"id":1,"tags":[]},{"other":2}]', "JSON array of {id, tags[]}"),
        ("[1,2,3]", "JSON array"),
        ('[ \n{"a":1}]', "JSON array of {a}"),
        ('{"a":{"b":{"c":1},"e":2},"d":3}', "JSON object: a{}, d"),
        ('{"' + "k" * 40 + '":1}', "JSON object: " + "k" * 40),
        ("\nabc", "text, 2 lines"),
        ("a\n" * 200_000, "text, 200000 lines"),
        ("[]", "JSON array"),
        ("{}", "JSON object"),
        ('{"a":1,"a":2}', "JSON object: a"),
        ('{"cut', "JSON object"),
        ('{"a":[1,2', "JSON object: a[]"),
        ('{"a":"x\\', "JSON object: a"),
        ('{"' + "k" * 99 + '":1}', "JSON object: " + "k" * 40 + "…"),
        (
            "{" + ",".join(f'"k{number}":1' for number in range(13)) + "}",
            "JSON object: k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, …",
        ),
    ],
)
def test_the_shape_of_a_text(text: str, shape: str) -> None:
    assert shape_of(text) == shape


# ---- ids -----------------------------------------------------------------------------------------


def test_an_id_is_made_of_chance_alone() -> None:
    assert new_ref(bytes(16)) == "r_" + "a" * 26
    assert len({new_ref(bytes([number] * 16)) for number in range(256)}) == 256
    assert is_ref(new_ref(b"\xff" * 16))
    with pytest.raises(ValueError, match="16 random bytes"):
        new_ref(bytes(15))


@pytest.mark.parametrize(
    "value", ["", REF + "\n", REF.upper(), "../" + REF, REF[:-1], "r_" + "1" * 26, "r_" + "é" * 26, None, 7, "x" * 10_000]
)
def test_nothing_else_is_an_id(value: object) -> None:
    assert not is_ref(value)


def test_what_results_name() -> None:
    one, other = ToolResult("a", "ok", (Text("x"),), ref_id=REF), ToolResult("b", "ok", (Text("x"),), ref_id="../x")
    assert named([one, other, result("c", "ok", "x")]) == {REF}
    assert named_in([AssistantTurn((Text("x"),)), ToolResultsTurn((one, other))]) == {REF}
