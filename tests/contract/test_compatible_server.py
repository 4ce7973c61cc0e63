"""Servers that are declared in `routing.toml`, each with its quirks, keep the contract of every adapter.

Each quirk is seen on the wire, by a server that refuses what it is there to avoid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import pytest

import geode
from geode.domain.content import Image
from geode.domain.conversation import Conversation
from geode.domain.loop.outcome import Answered, Failed, Outcome
from geode.domain.policy import Policy
from geode.domain.script import Step, calls, says
from geode.domain.targets import Quirks
from geode.entrypoints.compliance import shipped_servers
from geode.entrypoints.compliance.capabilities import CapabilityContract
from geode.entrypoints.compliance.emulated import serve
from geode.entrypoints.compliance.histories import PNG
from geode.entrypoints.compliance.playing import AT_ONCE, READER
from geode.entrypoints.compliance.prompt import PromptContract
from geode.entrypoints.compliance.replay import ReplayContract
from geode.entrypoints.compliance.replies import ReplyContract
from geode.entrypoints.compliance.tool_choice import ToolChoiceContract
from geode.entrypoints.emulator import Emulator, Quirk
from geode.entrypoints.routes.registry import bootstrap_builtins, forget_adapters
from geode.events import Finished
from geode.testing import ScriptedModel
from tests.contract.wire_contract import WireContract

PAGE: Final = Path(__file__).parents[2] / "docs" / "compatible-servers.md"


class TestNullContent(WireContract):
    harness = shipped_servers.NullContentHarness


class TestEmptyContent(WireContract):
    harness = shipped_servers.EmptyContentHarness


class OfRequests(ToolChoiceContract, ReplayContract, PromptContract, CapabilityContract, ReplyContract):
    """What hangs on the form of requests; faults, streams and cancelling are those of the others."""


class TestAbsentContent(OfRequests):
    harness = shipped_servers.AbsentContentHarness


class TestTextOnly(OfRequests):
    harness = shipped_servers.TextOnlyHarness


# ---- a server in routing.toml, as somebody writes it -----------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("GEODE_HOME", str(tmp_path))
    forget_adapters()
    yield tmp_path
    forget_adapters()


def screenshot() -> Image:
    """Take a picture of the screen."""
    return PNG


QUESTION: Final = "What is on the screen?"
SHOOT: Final = geode.tool(tier="safe")(screenshot)
PICTURE: Final = {"type": "image_url", "image_url": {"url": PNG.data_url}}
# One round with a call that gives a picture, and one after it.
ROUNDS: Final[tuple[Step, ...]] = (calls(("screenshot", {})), says("a login page"))


async def streamed(model: str, conversation: Conversation | None = None) -> Outcome:
    """A streamed run with everything that a quirk is about: a call without text, a picture, a bound of the output."""
    policy = Policy(retry=AT_ONCE, max_output_tokens=500)
    async with geode.session(model=model, tools=[SHOOT], policy=policy) as loop:
        async for event in loop.stream(QUESTION, conversation=conversation):
            if isinstance(event, Finished):
                return event.outcome
    raise AssertionError("the run did not finish")


def declare(home: Path, emulator: Emulator, quirks: str) -> None:
    text = f'[providers.lab]\nbase_url = "{serve(emulator)}/v1"\n[providers.lab.quirks]\n{quirks}\n'
    (home / "routing.toml").write_text(text)


def server(*refuses: Quirk, script: tuple[Step, ...] = ROUNDS) -> Emulator:
    return Emulator(script, dialect="generic", quirks=frozenset(refuses))


# (the quirk, what its server refuses, what of that the request without the quirk runs into)
AVOIDS: Final[tuple[tuple[str, tuple[Quirk, ...], Quirk], ...]] = (
    ('content_beside_calls = "empty"', ("null_content", "absent_content"), "null_content"),
    ('content_beside_calls = "absent"', ("null_content", "empty_content"), "null_content"),
    ('images = "none"', ("pictures", "result_parts"), "pictures"),
    ("stream_usage = false", ("stream_options",), "stream_options"),
    ('output_limit = "max_completion_tokens"', ("max_tokens",), "max_tokens"),
)
# What the generic dialect does by itself, said once more, is no error of the server that wants just that.
SAYS_AGAIN: Final[tuple[tuple[str, tuple[Quirk, ...]], ...]] = (
    ('content_beside_calls = "null"', ("empty_content", "absent_content")),
    ('images = "after_results"', ("result_parts",)),
    ('output_limit = "max_tokens"', ("max_completion_tokens",)),
    ("tools = true\nstream_usage = true", ()),
)


@pytest.mark.parametrize(("quirk", "refuses"), [*((one, refuses) for one, refuses, _ in AVOIDS), *SAYS_AGAIN])
async def test_with_its_quirk_a_server_refuses_nothing(quirk: str, refuses: tuple[Quirk, ...], home: Path) -> None:
    emulator = server(*refuses)
    declare(home, emulator, quirk)

    outcome = await streamed("lab/llama")

    assert isinstance(outcome, Answered), outcome
    assert (len(emulator.received), emulator.violations) == (2, ())
    assert outcome.usage.input_tokens > 0


@pytest.mark.sends_broken_requests
@pytest.mark.parametrize(("refuses", "rule"), [(refuses, rule) for _, refuses, rule in AVOIDS], ids=[one for one, *_ in AVOIDS])
async def test_without_its_quirk_it_refuses(refuses: tuple[Quirk, ...], rule: Quirk, home: Path) -> None:
    """Or the test above would say nothing."""
    emulator = server(*refuses)
    declare(home, emulator, "")

    outcome = await streamed("lab/llama")

    assert isinstance(outcome, Failed), outcome
    assert {one.rule for one in emulator.violations} == {f"chat.quirk.{rule}"}


@pytest.mark.parametrize(("place", "role"), [("in_result", "tool"), ("after_results", "user")])
async def test_a_picture_stands_where_the_server_takes_it(place: str, role: str, home: Path) -> None:
    emulator = server()
    declare(home, emulator, f'images = "{place}"')

    assert isinstance(await streamed("lab/llama"), Answered)

    last = emulator.received[1].request["messages"][-1]
    assert last["role"] == role
    assert PICTURE in last["content"]


async def test_a_server_without_tools_is_told_of_calls_in_words(home: Path) -> None:
    """Spec section 6: no tools, and earlier tool turns as plain text, never as a call or result structure."""
    emulator = server("tools", "tool_messages", script=ROUNDS[1:])
    declare(home, emulator, "tools = false")
    before = await geode.run("Look.", model=ScriptedModel(*ROUNDS), tools=[SHOOT])

    outcome = await streamed("lab/llama", before.conversation)

    assert isinstance(outcome, Answered), outcome
    (one,) = emulator.received
    assert one.violations == ()
    assert one.request["messages"] == [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "[called screenshot with {}]"},
        {"role": "user", "content": [{"type": "text", "text": "[result of screenshot] done"}, PICTURE]},
        {"role": "assistant", "content": "a login page"},
        {"role": "user", "content": QUESTION},
    ]


# ---- the choice ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kinds", "refuses", "taken"),
    [
        ('["auto", "none"]', "forced_choice", ()),
        ('["auto", "none", "required"]', "named_choice", ("required",)),
        ('["none", "auto", "named", "required"]', "tool_messages", ("required", "read")),
    ],
)
async def test_a_choice_that_the_server_does_not_take_is_refused_here(
    kinds: str, refuses: Quirk, taken: tuple[str, ...], home: Path
) -> None:
    for choice, shown in (("required", "required"), ({"name": "read"}, '"read"')):
        emulator = server(
            *(() if refuses == "tool_messages" else (refuses,)), script=(calls(("read", {"path": "a"})), says("ok"))
        )
        declare(home, emulator, f"choice = {kinds}")
        forget_adapters()

        outcome = await geode.run("hi", model="lab/llama", tools=[READER], tool_choice=choice)

        if (choice if isinstance(choice, str) else choice["name"]) in taken:
            assert isinstance(outcome, Answered), outcome
            assert emulator.violations == ()
        else:
            assert isinstance(outcome, Failed)
            assert str(outcome.error) == f"lab: model llama cannot be given tool_choice {shown}"
            assert emulator.received == []


# ---- what is written wrong -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "where", "said"),
    [
        ('choice = ["required"]', "providers.lab.quirks.choice", 'a server takes at least auto and none, "auto" is missing'),
        ('choice = ["auto"]', "providers.lab.quirks.choice", '"none" is missing. One that does not: tools = false'),
        ("choice = []", "providers.lab.quirks.choice", '"auto" is missing'),
        ('choice = ["auto", "any"]', "providers.lab.quirks.choice", "must be 'auto', 'none', 'required' or 'named'"),
        ('content_beside_calls = ""', "providers.lab.quirks.content_beside_calls", "'null', 'empty' or 'absent'"),
        ('images = "in_results"', "providers.lab.quirks.images", "'in_result', 'after_results' or 'none'"),
        ("tools = 0", "providers.lab.quirks.tools", "must be true or false, got a whole number"),
        ('max_tokens = "x"', "providers.lab.quirks", '"max_tokens" is no key; '),
    ],
)
def test_a_quirk_that_is_none_is_told_with_its_place(lines: str, where: str, said: str, home: Path) -> None:
    declare(home, server(), lines)

    with pytest.raises(geode.Misuse) as caught:
        bootstrap_builtins()

    assert f"{home / 'routing.toml'}:4" in str(caught.value)
    assert where in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"choice": {"auto"}}, 'Quirks(choice=…): a server takes at least auto and none, "none" is missing'),
        ({"choice": "auto"}, "the kinds of tool choice are auto, none, required, named, got 'auto'"),
        ({"choice": ["auto", "none", "any"]}, "the kinds of tool choice are auto, none, required, named"),
        ({"tools": 1}, "Quirks(tools=…) takes True, False, got 1"),
        ({"images": "inside"}, "Quirks(images=…) takes 'in_result', 'after_results', 'none', got 'inside'"),
        ({"output_limit": True}, "Quirks(output_limit=…) takes 'max_tokens', 'max_completion_tokens', got True"),
    ],
)
def test_a_quirk_that_is_none_is_misuse_in_python_too(given: dict[str, Any], said: str) -> None:
    with pytest.raises(geode.Misuse, match=re.escape(said)):
        Quirks(**given)


def test_kinds_of_choice_may_be_given_in_any_order() -> None:
    assert Quirks(choice=cast("Any", ["none", "auto"])) == Quirks(choice=frozenset({"auto", "none"}))


# ---- docs/compatible-servers.md --------------------------------------------------------------------

BLOCKS: Final = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
# What the page says that each server refuses.
REFUSED: Final[dict[str, tuple[Quirk, ...]]] = {
    "vllm": ("result_parts", "absent_content"),
    "llama-cpp": ("named_choice", "null_content"),
    "ollama": ("forced_choice", "null_content", "max_completion_tokens"),
    "ollama-text": ("tools", "tool_messages"),
    "lm-studio": ("named_choice", "null_content"),
    "gateway": ("max_tokens", "stream_options"),
}
DECLARED: Final = {
    "vllm": Quirks(content_beside_calls="null", images="after_results"),
    "llama-cpp": Quirks(choice=frozenset({"auto", "none", "required"}), content_beside_calls="empty"),
    "ollama": Quirks(choice=frozenset({"auto", "none"}), content_beside_calls="empty"),
    "ollama-text": Quirks(tools=False),
    "lm-studio": Quirks(choice=frozenset({"auto", "none", "required"}), content_beside_calls="empty"),
    "gateway": Quirks(stream_usage=False, output_limit="max_completion_tokens"),
}


def test_the_page_is_read_as_it_stands(home: Path) -> None:
    (home / "routing.toml").write_text("\n".join(BLOCKS))

    table = bootstrap_builtins().table

    for name, quirks in DECLARED.items():
        transport = table.targets[name].transport
        assert transport is not None
        assert (transport.wire, transport.dialect, transport.quirks) == ("chat", "generic", quirks)
    assert set(DECLARED) == set(re.findall(r"^\[providers\.([a-z-]+)\]$", "\n".join(BLOCKS), re.MULTILINE))
    assert {row.prefix: row.window for row in table.models if row.prefix.startswith("vllm/")} == {
        "vllm/": 32_768,
        "vllm/qwen3": 131_072,
    }


@pytest.mark.parametrize("name", REFUSED)
async def test_a_server_of_the_page_refuses_nothing_of_a_run(name: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emulator = server(*REFUSED[name], script=ROUNDS if DECLARED[name].tools is None else ROUNDS[1:])
    blocks = "\n".join(BLOCKS)
    (home / "routing.toml").write_text(
        re.sub(r'^base_url = ".*"$', f'base_url = "{serve(emulator)}/v1"', blocks, flags=re.MULTILINE)
    )
    monkeypatch.setenv("GATEWAY_KEY", "a-key")

    outcome = await streamed(f"{name}/llama")

    assert isinstance(outcome, Answered), outcome
    assert emulator.violations == ()
