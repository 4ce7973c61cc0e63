"""The specification as data: conversations that every adapter has to replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from geode.domain.arguments import tool_use
from geode.domain.content import (
    Document,
    Image,
    ImageUrl,
    Opaque,
    Owner,
    Part,
    ResultKind,
    Text,
    ToolResult,
    ToolUseBlock,
)
from geode.domain.conversation import Conversation
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, Hint, ToolResultsTurn, Turn, UserTurn

PNG: Final = Image("image/png", b"\x89PNG\r\n\x1a\n" + bytes(24))
GIF: Final = Image("image/gif", b"GIF89a" + bytes(20))
PDF: Final = Document("application/pdf", b"%PDF-1.4" + bytes(8), "paper.pdf")
LINK: Final = ImageUrl("https://example.org/a.png")
JPEG: Final = Image("image/jpeg", b"\xff\xd8\xff" + bytes(range(21)))
WEBP: Final = Image("image/webp", b"RIFF\x10\x00\x00\x00WEBP" + bytes(range(12)))
ALBUM: Final = (PNG, JPEG, GIF, WEBP)
FOREIGN: Final = Owner("elsewhere", "other-model")
READ: Final = ToolSpec(
    "read",
    "Read a file – all of it.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": False},
)
LIST: Final = ToolSpec("list_files", "", {"type": "object", "properties": {}})
TOOLS: Final = (READ, LIST)

# Makes an opaque item of a wire: owner and a number that tells it from others.
MakeOpaque = Callable[[Owner, int], Opaque]
Turns = list[Turn]
Make = Callable[[Owner, MakeOpaque], Turns]


def user(*items: str | Part, hint: str | None = None) -> UserTurn:
    return UserTurn(tuple(Text(item) if isinstance(item, str) else item for item in items), _hints(hint))


def _hints(hint: str | None) -> tuple[Hint, ...]:
    return () if hint is None else (Hint("wrap_up", hint),)


def model(owner: Owner | None, *items: str | ToolUseBlock | Opaque) -> AssistantTurn:
    return AssistantTurn(tuple(Text(item) if isinstance(item, str) else item for item in items), owner)


def call(id: str, name: str = "read", arguments: Any = None) -> ToolUseBlock:
    return tool_use(id, name, {"path": "a"} if arguments is None else arguments)


def answer(id: str, kind: ResultKind = "ok", *content: str | Part) -> ToolResult:
    parts = content or (f"result of {id}",)
    return ToolResult(id, kind, tuple(Text(part) if isinstance(part, str) else part for part in parts))


def results(*found: ToolResult | str, hint: str | None = None) -> ToolResultsTurn:
    return ToolResultsTurn(tuple(answer(one) if isinstance(one, str) else one for one in found), _hints(hint))


def _parallel(me: Owner, _: MakeOpaque) -> Turns:
    asked = model(me, "Three files.", call("call_a"), call("call_b", "list_files", {}), call("call_c"))
    return [user("go"), asked, results("call_a", answer("call_b", "failed", "no such folder"), "call_c")]


def _kinds(me: Owner, _: MakeOpaque) -> Turns:
    kinds: tuple[ResultKind, ...] = ("ok", "failed", "denied", "interrupted", "outcome_unknown")
    asked = model(me, *(call(f"call_{kind}") for kind in kinds))
    return [user("go"), asked, results(*(answer(f"call_{kind}", kind, f"about {kind[:2]}") for kind in kinds))]


def _hinted(me: Owner, _: MakeOpaque) -> Turns:
    return [
        user("go"),
        model(me, call("call_a"), call("call_b")),
        results("call_a", "call_b", hint="conclude now"),
        model(me, "So."),
        user("and?"),
    ]


def _hinted_user(_: Owner, __: MakeOpaque) -> Turns:
    return [user("go", hint="be brief")]


def _pictures(me: Owner, _: MakeOpaque) -> Turns:
    return [
        user("look", PNG, "and", GIF),
        model(me, call("call_a"), call("call_b"), call("call_c"), call("call_d")),
        results(
            answer("call_a", "ok", "a picture", PNG),
            answer("call_b", "failed", "half a picture", GIF),
            answer("call_c", "ok", PNG, GIF),
            answer("call_d"),
            hint="conclude",
        ),
    ]


def _documents(me: Owner, _: MakeOpaque) -> Turns:
    return [
        user("read", PDF, LINK),
        model(me, call("call_a"), call("call_b")),
        results(answer("call_a", "ok", "the paper", PDF), answer("call_b", "failed", "no page", LINK)),
    ]


def album(*given: Image) -> Conversation:
    """Pictures that differ, in the order in which they are seen: those that the user gave, then three of tools."""
    asked = model(None, call("call_a"), call("call_b"))
    found = results(answer("call_a", "ok", "one", JPEG), answer("call_b", "ok", "two", GIF, WEBP))
    return Conversation((user("look", *given), asked, found, model(None, "I see.")))


def _opaque(me: Owner, make: MakeOpaque) -> Turns:
    """The owner's own items, those of another model of the same adapter, and those of another adapter."""
    other = Owner(me.adapter, "another-model")
    return [
        user("go"),
        model(me, make(me, 1), "I think.", call("call_a")),
        results("call_a"),
        model(other, make(other, 2), call("call_b")),
        results("call_b"),
        model(FOREIGN, make(FOREIGN, 3), "Theirs.", call("call_c")),
        results("call_c"),
    ]


def _foreign_thoughts(_: Owner, make: MakeOpaque) -> Turns:
    """A turn of which nothing is left for this provider."""
    return [user("go"), model(FOREIGN, make(FOREIGN, 1)), user("and?")]


def _foreign_ids(me: Owner, _: MakeOpaque) -> Turns:
    """Ids of others, some of which no provider would take; equal ids of this provider stay its own."""
    awkward = ("call:1|fc_2", "x" * 100, "ünï çode", "call_own", "toolu_1")
    return [
        user("go"),
        model(FOREIGN, *(call(id) for id in awkward)),
        results(*awkward),
        model(me, call("call_mine"), call("functions.read:0")),
        results("call_mine", "functions.read:0"),
        model(None, call("call_nobody")),
        results("call_nobody"),
    ]


def _reused_ids(me: Owner, _: MakeOpaque) -> Turns:
    """Four rounds with one id, as servers that restart numbering write them."""
    rounds: list[Turns] = [[model(me, call("call_0")), results(answer("call_0", "ok", f"r{number}"))] for number in range(4)]
    return [user("go"), *(turn for one in rounds for turn in one)]


def _broken_arguments(me: Owner, _: MakeOpaque) -> Turns:
    broken = ('{"path": "a', "[1,2]", "5", "nonsense \ud800", '{"n": NaN}', "", None, '{"text": "two\nlines"}')
    asked = model(me, *(tool_use(f"call_{number}", "read", text) for number, text in enumerate(broken)))
    return [user("go"), asked, results(*(answer(f"call_{number}", "failed", "sent badly") for number in range(len(broken))))]


def _blanks(me: Owner, _: MakeOpaque) -> Turns:
    return [
        user("", "go", "  \n"),
        model(me, "", call("call_a"), " \t", call("call_b")),
        results(answer("call_a", "ok", ""), answer("call_b", "failed", "  "), hint=" "),
        user(" "),
        model(me, "", "said"),
        user(""),
        user("and?"),
    ]


def _unicode(me: Owner, _: MakeOpaque) -> Turns:
    text = 'Übergröße 日本語 🙂 \u2028\u2029\u0085 \x00\x1f\x7f " \\ </script> e\u0301 \u202eltr \ud83d and \ud83d\ude42'
    return [
        user(text),
        model(me, text, call("call_a", "read", {"schlüssel \u2028": [text, {"🙂": None}]})),
        results(answer("call_a", "ok", text), hint=text),
    ]


def _invented_names(me: Owner, _: MakeOpaque) -> Turns:
    names = ("read file", 'fetch_report" />', "x" * 100, "Dateien.lesen", "日本", "")
    asked = model(me, *(call(f"call_{number}", name) for number, name in enumerate(names)))
    failed = (answer(f"call_{number}", "failed", "there is no such tool") for number in range(len(names)))
    return [user("go"), asked, results(*failed)]


def _paused(me: Owner, make: MakeOpaque) -> Turns:
    """A turn that the provider paused, and which went on in the next one."""
    return [user("go"), model(me, make(me, 1), "Half a"), model(me, " sentence.", call("call_a")), results("call_a")]


def _rounds(me: Owner, _: MakeOpaque) -> Turns:
    rounds: list[Turns] = [[model(me, call(f"call_{number}")), results(f"call_{number}")] for number in range(30)]
    return [user("go"), *(turn for one in rounds for turn in one)]


REPLAYS: Final[Mapping[str, Make]] = {
    "parallel calls": _parallel,
    "kinds of results": _kinds,
    "hints": _hinted,
    "pictures": _pictures,
    "documents": _documents,
    "opaque items": _opaque,
    "foreign thoughts alone": _foreign_thoughts,
    "foreign ids": _foreign_ids,
    "reused ids": _reused_ids,
    "broken arguments": _broken_arguments,
    "blank texts": _blanks,
    "unicode": _unicode,
    "invented names": _invented_names,
    "paused turns": _paused,
    "many rounds": _rounds,
}
# A hint where there are no results stands after what the user said.
PROMPTS: Final[Mapping[str, Make]] = {"a hint for the user's turn": _hinted_user}


def history(name: str, me: Owner, make: MakeOpaque) -> Conversation:
    """A conversation of the specification, seen from the adapter and model `me`."""
    return Conversation.repaired({**REPLAYS, **PROMPTS}[name](me, make))
