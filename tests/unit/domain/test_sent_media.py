"""Pictures that are too large or too many for a request: the run goes on, and nothing is left out without a word."""

import struct
from dataclasses import replace

import pytest

from geode.domain.content import Document, Image, Text, ToolResult
from geode.domain.conversation import Conversation
from geode.domain.negotiation import Adjustment, negotiate
from geode.domain.pictures import PictureLimits
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.sent_media import in_words
from geode.domain.turns import ToolResultsTurn, Turn, UserTurn
from tests.unit.domain.builders import assistant, call

LIMITS = PictureLimits(max_bytes=100, max_side=800, many=2, max_side_of_many=200, max_count=3, max_total_bytes=200)
ABLE = Capabilities(pictures=LIMITS)


def png(width: int, height: int = 10, length: int = 40) -> Image:
    header = struct.pack(">I4sII", 13, b"IHDR", width, height)
    return Image("image/png", (b"\x89PNG\r\n\x1a\n" + header).ljust(length, b"\0"))


def shots(*pictures: Image, asked: tuple[Image, ...] = ()) -> AdapterCallRequest:
    """A conversation in which the user showed some pictures and a tool one after the other."""
    turns: list[Turn] = [UserTurn((Text("go"), *asked))]
    for number, picture in enumerate(pictures):
        result = ToolResult(f"c{number}", "ok", (Text(f"shot {number}"), picture))
        turns += [assistant(call(f"c{number}")), ToolResultsTurn((result,))]
    return AdapterCallRequest("m", Conversation(tuple(turns)))


def sent(request: AdapterCallRequest, able: Capabilities = ABLE) -> tuple[list[Image], list[str], tuple[Adjustment, ...]]:
    """The pictures that leave, the words for the others, and what was adjusted."""
    found = negotiate("p", request, able).unwrap()
    parts = [part for turn in found.request.turns if isinstance(turn, UserTurn) for part in turn.items]
    parts += [part for result in found.request.conversation.results() for part in result.content]
    words = [part.text for part in parts if isinstance(part, Text) and part.text.startswith("[")]
    return [part for part in parts if isinstance(part, Image)], words, found.adjustments


def test_what_fits_goes_out_as_it_is() -> None:
    request = shots(png(1), png(2), png(3))
    assert negotiate("p", request, ABLE).unwrap().request is request


def test_of_more_than_a_request_takes_the_oldest_become_words() -> None:
    request = shots(*map(png, range(1, 6)))
    pictures, words, (adjusted,) = sent(request)
    assert pictures == [png(3), png(4), png(5)]
    assert words == ["[image/png, 40 bytes: not shown; a request takes no more pictures than it has]"] * 2
    text = "p cannot show the model all pictures: words about the oldest, or too large, go out instead"
    assert adjusted == Adjustment("media_left_out", text)
    assert next(iter(request.conversation.results())).media == (png(1),), "what is stored stays"


def test_of_more_bytes_than_a_request_takes_too() -> None:
    assert sent(shots(png(1, length=90), png(2, length=90), png(3, length=90)))[0] == [png(2, length=90), png(3, length=90)]


def test_with_many_pictures_none_is_long() -> None:
    """Long alone and among two, and words when a third comes: the server would refuse every later request."""
    assert sent(shots(png(300), png(1)))[0] == [png(300), png(1)]
    assert sent(shots(png(300), png(1), png(2)))[0] == [png(1), png(2)]


def test_the_pictures_of_a_user_count_and_give_way_likewise() -> None:
    pictures, words, _ = sent(shots(png(1), png(2), png(3), asked=(png(300), png(5))))
    assert pictures == [png(1), png(2), png(3)]
    assert len(words) == 2


def test_one_of_a_user_that_could_never_be_shown_is_refused() -> None:
    for picture, why in (
        (png(801), "801x10 pixels, over the limit of 800 on a side"),
        (png(1, length=101), "over the limit of 100 bytes"),
    ):
        said = negotiate("p", shots(asked=(picture,)), ABLE).failure()
        assert said.startswith(
            f"p: model m cannot be sent image/png, {len(picture.data)} bytes (user turn 0): {why}; make it smaller"
        )


def test_one_of_a_tool_becomes_words() -> None:
    """It was taken by another provider, or came with a stored conversation."""
    assert sent(shots(png(801))) == (
        [],
        ["[image/png, 40 bytes: not shown; 801x10 pixels, over the limit of 800 on a side]"],
        negotiate("p", shots(png(801)), ABLE).unwrap().adjustments,
    )


@pytest.mark.parametrize("able", [replace(ABLE, images="none"), replace(ABLE, media=frozenset())])
def test_what_cannot_be_shown_at_all_does_not_count(able: Capabilities) -> None:
    pictures, words, _ = sent(shots(*map(png, range(1, 6))), able)
    assert pictures == []
    assert words == ["[image/png, 40 bytes: this model cannot be shown it]"] * 5


def test_turns_that_stay_as_they_are_are_the_same() -> None:
    """What was encoded of them is kept with them."""
    request = shots(*map(png, range(1, 6)))
    found = negotiate("p", request, ABLE).unwrap().request
    assert [one is other for one, other in zip(found.turns, request.turns, strict=True)] == [
        *(True, True, False, True, False),
        *(True, True, True, True, True, True),
    ]


def test_a_text_stands_for_itself() -> None:
    assert in_words(Text("a")) == Text("a")


def test_a_plain_text_is_told_where_it_cannot_be_attached() -> None:
    note = ToolResult("c", "ok", (Document("text/plain", b"42 g", "a.txt"),))
    talk = Conversation((UserTurn((Text("go"),)), assistant(call("c")), ToolResultsTurn((note,))))
    found = negotiate("p", AdapterCallRequest("m", talk), replace(ABLE, images="none")).unwrap()
    assert [one.text for one in found.request.conversation.results()] == ["a.txt:\n42 g"]
