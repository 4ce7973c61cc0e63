"""The specification as data: tool choice, scripts with what they mean, and how faults are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.failures import FailureClass
from geode.domain.script import (
    Called,
    DropPoint,
    Fails,
    MalformedKind,
    Reply,
    Said,
    calls,
    cut,
    fails,
    pauses,
    refuses,
    says,
    thinks,
)

# ---- tool choice: spec section 2 ---------------------------------------------------------------

# (what the caller writes, what it means)
CHOICES: Final[tuple[tuple[Any, ToolChoice], ...]] = (
    (None, Auto()),
    ("auto", Auto()),
    ({"type": "auto"}, Auto()),
    ("none", NoTools()),
    ({"type": "none"}, NoTools()),
    ("required", Required()),
    ("any", Required()),
    ({"type": "required"}, Required()),
    ({"type": "any"}, Required()),
    ({"type": "tool", "name": "read"}, Named("read")),
    ({"type": "function", "name": "read"}, Named("read")),
    ({"type": "function", "function": {"name": "read"}}, Named("read")),
    ({"name": "read"}, Named("read")),
    ({"function": {"name": "read"}}, Named("read")),
)
# One of each kind, by the word under which adapters declare it.
KINDS: Final[Mapping[str, ToolChoice]] = {"auto": Auto(), "none": NoTools(), "required": Required(), "named": Named("read")}
FORCED: Final = ("required", {"name": "read"})
UNKNOWN_CHOICES: Final[tuple[Any, ...]] = (
    "automatic",
    "AUTO",
    "",
    "read",
    {"type": "tool"},
    {"type": "function", "function": {}},
    {"name": ""},
    {"name": 5},
    {"type": "allowed_tools"},
    {},
    [],
    7,
    True,
)

# ---- replies -----------------------------------------------------------------------------------

READ: Final = ("read", {"path": "ä/b.txt"})
REPLIES: Final[Mapping[str, Reply]] = {
    "text": says("Grüße \u2028 aus 日本 🙂 und anderswo."),
    "one call": calls(READ),
    "text and parallel calls": says("Two files.") + calls(READ, ("read", {"path": "c"}), ("list_files", {})),
    "thought, text and call": thinks("hm, a file", "SIGNED") + says("Reading it.") + calls(READ),
    "thought and text": thinks("easy", "SIGNED") + says("Four."),
    "arguments in all spellings": calls(
        ("read", '{"path": "x"}'), ("list_files", None), ("list_files", ""), ("read", '"{\\"path\\": \\"twice\\"}"')
    ),
    "broken arguments": calls(("read", '{"path": "a'), ("read", "[1, 2]")),
    "ids missing and twice": calls(Called("read", {"path": "a"}, ""), Called("read", {"path": "b"}, "x")),
    "cut text": cut(says("the first half of")),
    "cut call": cut(says("I will") + calls(("read", '{"path": "a'))),
    "refusal": refuses("I will not do that."),
    "nothing": Reply((Said(""),)),
    "tokens": Reply((Said("counted"),), input_tokens=1234, output_tokens=56),
}
PAUSED: Final = pauses("half of it")

# ---- faults: spec section 7 --------------------------------------------------------------------

_FATAL: Final = FailureClass.REQUEST_FATAL
STATUSES: Final[tuple[tuple[int, FailureClass], ...]] = (
    (400, _FATAL),
    (401, FailureClass.AUTH),
    (402, FailureClass.BILLING),
    (403, FailureClass.AUTH),
    (404, FailureClass.OTHER_CLIENT),
    (408, FailureClass.TIMEOUT),
    (409, FailureClass.CONFLICT),
    (422, FailureClass.OTHER_CLIENT),
    (429, FailureClass.RATE_LIMIT),
    (500, FailureClass.SERVER),
    (503, FailureClass.SERVER),
    (529, FailureClass.SERVER),
)


def class_of_status(status: int, wanted: FailureClass, *, plan: bool) -> FailureClass:
    """Of a plan, which pays for a span of time, a 429 that says nothing more is the end until its reset."""
    return FailureClass.BILLING if plan and status == 429 else wanted


# What may be tried again: spec section 7, the others once.
RETRIED: Final = frozenset(
    {FailureClass.TIMEOUT, FailureClass.CONFLICT, FailureClass.RATE_LIMIT, FailureClass.SERVER, FailureClass.CONNECTION}
)


@dataclass(frozen=True)
class Hinted:
    """A failure with a word about trying again: whether it is tried again, and the least wait before that.

    `timed`: it tells when.
    """

    failure: Fails
    retried: bool
    seconds: float = 0.0
    shown: str = ""
    timed: bool = True


def _hinted(**headers: str) -> Fails:
    return Fails(429, headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()))


HINTS: Final[Mapping[str, Hinted]] = {
    "seconds": Hinted(fails(429, retry_after=7), retried=True, seconds=7),
    "milliseconds": Hinted(_hinted(retry_after_ms="1500"), retried=True, seconds=1.5),
    "milliseconds win": Hinted(_hinted(retry_after_ms="2500", retry_after="50"), retried=True, seconds=2.5),
    "a date that has passed": Hinted(_hinted(retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), retried=True),
    "zero": Hinted(_hinted(retry_after="0"), retried=True),
    "the most that is waited": Hinted(_hinted(retry_after="60"), retried=True, seconds=60),
    "too long": Hinted(_hinted(retry_after="61"), retried=False, shown="61"),
    "a date far away": Hinted(_hinted(retry_after="Fri, 01 Jan 2100 00:00:00 GMT"), retried=False, shown="2100"),
    "no": Hinted(_hinted(x_should_retry="false", retry_after="1"), retried=False, shown="x-should-retry"),
    "yes": Hinted(_hinted(x_should_retry="true"), retried=True, timed=False),
    "infinite": Hinted(_hinted(retry_after="inf"), retried=False, shown="inf"),
    "not a number": Hinted(_hinted(retry_after="nan"), retried=False, shown="nan"),
    "negative": Hinted(_hinted(retry_after="-1"), retried=False, shown="-1"),
    "unreadable": Hinted(_hinted(retry_after="soon"), retried=True, timed=False),
}

# (where it is cut, streamed, what it is, tried again). Cut after visible output it is never tried again.
DROPS: Final[tuple[tuple[DropPoint, bool, FailureClass], ...]] = (
    ("connect", False, FailureClass.CONNECTION),
    ("connect", True, FailureClass.CONNECTION),
    ("headers", False, FailureClass.CONNECTION),
    ("headers", True, FailureClass.CONNECTION),
    ("before_output", False, FailureClass.CONNECTION),
    ("before_output", True, FailureClass.CONNECTION),
    ("after_output", False, FailureClass.CONNECTION),
    ("after_output", True, FailureClass.STREAM_INTERRUPTED),
    ("before_end", False, FailureClass.CONNECTION),
    ("before_end", True, FailureClass.STREAM_INTERRUPTED),
)

# A 200 that is no answer. An error inside it is judged as if it had had its status; a stream that just
# ends was cut; anything else is unknown, and what is unknown is not tried again.
_NO_ANSWER: Final = FailureClass.UNKNOWN
MALFORMED: Final[tuple[tuple[MalformedKind, bool, FailureClass], ...]] = (
    ("html", False, _NO_ANSWER),
    ("html", True, _NO_ANSWER),
    ("not_json", False, _NO_ANSWER),
    ("not_json", True, _NO_ANSWER),
    ("empty", False, _NO_ANSWER),
    ("empty", True, FailureClass.CONNECTION),
    ("wrong_shape", False, _NO_ANSWER),
    ("wrong_shape", True, FailureClass.CONNECTION),
    ("error_in_200", False, FailureClass.SERVER),
    ("error_in_200", True, FailureClass.SERVER),
    ("error_in_stream", False, FailureClass.SERVER),
    ("error_in_stream", True, FailureClass.SERVER),
)
MALFORMED_KINDS: Final = tuple(dict.fromkeys(kind for kind, _, _ in MALFORMED))
