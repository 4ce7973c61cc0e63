"""What the wire of an adapter over HTTP keeps: tool choice, definitions, and the replay of any history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings

import geode
from geode.adapters.http_json.clients import new_http_client
from geode.domain.choice import ToolChoice, choice_word
from geode.domain.content import Opaque, Text
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.loop.outcome import Answered, Failed, Outcome
from geode.domain.policy import Policy
from geode.domain.script import calls, says
from geode.domain.turns import AssistantTurn
from geode.domain.wire_names import sent_name
from geode.entrypoints.compliance import specification
from geode.entrypoints.compliance.adapter import AdapterContract
from geode.entrypoints.compliance.contract import made
from geode.entrypoints.compliance.emulated import serve
from geode.entrypoints.compliance.histories import PROMPTS, REPLAYS, TOOLS, history, user
from geode.entrypoints.compliance.playing import AT_ONCE, READER, STREAMED, nowhere, reply_of
from geode.entrypoints.compliance.reading import FITS, Told, expected, ids, read, same
from geode.entrypoints.compliance.servers import canned, head
from geode.entrypoints.compliance.shipped import ShippedHarness
from geode.entrypoints.emulator import Emulator, check, laws
from geode.ports.events import Finished
from tests.contract.strategies import conversations
from tests.contract.wires import FORMS, encode, request

RESULTS = ("tool_result", "function_call_output")


class WireContract(AdapterContract):
    """Inherit, and give `harness`."""

    @property
    def made(self) -> ShippedHarness:
        found: ShippedHarness = made(type(self), ShippedHarness)
        return found

    # ---- running -------------------------------------------------------------------------------

    async def run(
        self, emulator: Emulator, *, streamed: bool = False, model: str | None = None, tool_choice: Any = None, **settings: Any
    ) -> Outcome:
        """One run of an application against the emulator."""
        given: dict[str, Any] = {"tools": [READER], "policy": Policy(retry=AT_ONCE), **settings}
        provider = self.made.provider(serve(emulator))
        async with geode.session(model=f"{self.made.name}/{model or self.made.model}", providers=[provider], **given) as loop:
            if not streamed:
                return await loop.run("hi", tool_choice=tool_choice)
            async for event in loop.stream("hi", tool_choice=tool_choice):
                if isinstance(event, Finished):
                    return event.outcome
        raise AssertionError("the run did not finish")

    async def sent(self, conversation: Conversation, **changes: Any) -> dict[str, Any]:
        """The body that leaves for `conversation`, judged by the emulator."""
        emulator = self.made.emulator(says("ok"), refuse=False)
        async with new_http_client() as http:
            adapter = await self.made.connect(serve(emulator), http)
            reply_of(await adapter.acomplete(request(self.made, conversation, **changes), nowhere))
        (one,) = emulator.received
        assert one.violations == ()
        assert laws(self.made.wire, one.request) == ()
        return dict(one.request)

    # ---- tool choice: spec section 2 -----------------------------------------------------------

    @pytest.mark.parametrize(("spelling", "choice"), specification.CHOICES, ids=repr)
    async def test_every_spelling_has_its_value_on_the_wire(self, spelling: Any, choice: ToolChoice) -> None:
        forms, kind = FORMS[self.made.wire], choice_word(choice)
        wanted, calling = forms[kind], kind in ("required", "named")
        script = (calls(specification.READ), says("done")) if calling else (says("done"),)
        emulator = self.made.emulator(*script)

        outcome = await self.run(emulator, tool_choice=spelling)

        if kind not in self.able.choices:
            assert isinstance(outcome, Failed)
            assert emulator.received == []
            return
        assert isinstance(outcome, Answered), outcome
        first, *later = [one.request for one in emulator.received]
        assert first["tool_choice"] == wanted
        assert all(one["tool_choice"] == forms["auto"] for one in later), "it holds for one round"
        assert [_tool_names(self.made, one) for one in (first, *later)] == [["read", "recall_tool_result"]] * len(script)
        for one in (first, *later):
            assert one.get("parallel_tool_calls") == (True if self.made.parallel else None)
            assert "disable_parallel_tool_use" not in json.dumps(one)

    async def test_tools_are_defined_as_the_wire_wants_them(self) -> None:
        body = await self.sent(Conversation((user("hi"),)))

        plain = [(tool.name, tool.description, tool.input_schema) for tool in TOOLS]
        assert body["tools"] == [
            {
                "messages": {"name": name, "description": text, "input_schema": schema},
                "responses": {
                    "type": "function", "name": name, "description": text, "parameters": schema, "strict": False,
                },
                "chat": {"type": "function", "function": {"name": name, "description": text, "parameters": schema}},
            }[self.made.wire]
            for name, text, schema in plain
        ]  # fmt: skip

    async def test_without_tools_nothing_is_said_of_them(self) -> None:
        body = await self.sent(Conversation((user("hi"),)), tools=())

        assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)

    @pytest.mark.parametrize("spelling", specification.UNKNOWN_CHOICES, ids=repr)
    async def test_an_unknown_choice_is_refused_before_anything_leaves(self, spelling: Any) -> None:
        emulator = self.made.emulator(says("never"))

        with pytest.raises(Misuse, match="unknown") as raised:
            await self.run(emulator, tool_choice=spelling)

        assert "auto, none, required" in str(raised.value)
        assert emulator.received == []

    async def test_a_choice_of_a_tool_that_is_not_there_is_refused_before_anything_leaves(self) -> None:
        emulator = self.made.emulator(says("never"))

        with pytest.raises(Misuse, match=r'"write".*read'):
            await self.run(emulator, tool_choice={"type": "tool", "name": "write"})

        assert emulator.received == []

    @pytest.mark.parametrize("spelling", specification.FORCED, ids=str)
    async def test_a_choice_that_the_model_does_not_take_is_refused_here(self, spelling: Any) -> None:
        for model in (*self.made.auto_only, self.made.model):
            emulator = self.made.emulator(calls(specification.READ), says("done"))

            outcome = await self.run(emulator, model=model, tool_choice=spelling)

            shown = '"read"' if isinstance(spelling, dict) else spelling
            if model not in self.made.auto_only and ("named" if isinstance(spelling, dict) else shown) in self.able.choices:
                assert isinstance(outcome, Answered)
                continue
            assert isinstance(outcome, Failed)
            assert all(word in str(outcome.error) for word in (self.made.name, model, shown)), outcome.error
            assert emulator.received == []

    async def test_a_temperature_is_sent_or_refused_and_never_dropped(self) -> None:
        emulator = self.made.emulator(says("done"))

        outcome = await self.run(emulator, temperature=0.5)

        if self.able.temperature:
            assert isinstance(outcome, Answered)
            assert emulator.received[0].request["temperature"] == 0.5
        else:
            assert isinstance(outcome, Failed)
            assert "temperature" in str(outcome.error)
            assert emulator.received == []

    # ---- replay: spec section 3 ----------------------------------------------------------------

    @STREAMED
    @pytest.mark.parametrize("name", [*REPLAYS, *PROMPTS])
    async def test_a_history_is_accepted_and_says_what_was_said(self, name: str, streamed: bool) -> None:
        conversation = history(name, self.made.owner, self.made.opaque)
        stored = conversation.dumps()

        body = await self.sent(conversation, streamed=streamed, system="Be good.")

        self._says(body, conversation)
        assert conversation.dumps() == stored, "encoding changes nothing that is stored"
        assert _system(self.made, body) == "Be good."

    @pytest.mark.parametrize("name", REPLAYS)
    async def test_a_history_is_accepted_where_no_tools_are_given_any_more(self, name: str) -> None:
        """Where a server wants the tools of calls defined, they are: by name, in order of first use, and none to be called."""
        conversation = history(name, self.made.owner, self.made.opaque)
        names = dict.fromkeys(sent_name(call.name) for turn in conversation.turns for call in getattr(turn, "calls", ()))

        body = await self.sent(conversation, tools=())

        self._says(body, conversation)
        if names and self.made.calls_need_tools:
            assert _tool_names(self.made, body) == list(names)
            assert "no longer available" in json.dumps(body["tools"][0])
            assert body["tool_choice"] == FORMS[self.made.wire]["none"]
        else:
            assert not {"tools", "tool_choice"} & set(body)

    async def test_a_run_without_tools_goes_on_after_one_with_tools(self) -> None:
        emulator = self.made.emulator(calls(specification.READ), says("read"), calls(("invented", {})), says("so"))
        model, providers = f"{self.made.name}/{self.made.model}", [self.made.provider(serve(emulator))]
        first = await geode.run("hi", model=model, providers=providers, tools=[READER])

        second = await geode.run("and then?", model=model, providers=providers, conversation=first.conversation)

        assert isinstance(second, Answered), second
        assert emulator.violations == ()

    def _says(self, body: dict[str, Any], conversation: Conversation) -> None:
        found = read(self.made.wire, self.made.without_system(body))
        wanted = expected(self.made.wire, conversation, self.made.owner)
        assert same(found, wanted), f"it says\n{found}\nand should say\n{wanted}"
        sent = ids(found)
        assert len(set(sent)) == len(sent)
        assert all(FITS.fullmatch(id) for id in sent)
        turns = [turn for turn in conversation.turns if isinstance(turn, AssistantTurn)]
        made = [(call.id, turn.made_by) for turn in turns for call in turn.calls]
        own = [
            (mine, its)
            for (mine, by), its in zip(made, sent, strict=True)
            if by == self.made.owner and FITS.fullmatch(mine) and not mine.startswith("call_g")
        ]
        assert all(mine == its for mine, its in own), "a provider gets its own ids back"

    async def test_opaque_items_go_back_byte_for_byte(self) -> None:
        item = self.made.opaque(self.made.owner, 1)
        spaced = Opaque(item.owner, item.kind, json.dumps(json.loads(item.json_text), ensure_ascii=True, indent=1))
        conversation = Conversation((user("go"), AssistantTurn((spaced, Text("So.")), self.made.owner), user("and?")))
        async with canned(head("application/json", 400), b"{}") as server, new_http_client() as http:
            adapter = await self.made.connect(server.base_url, http)
            await adapter.acomplete(request(self.made, conversation), nowhere)

        ((_, body),) = server.requests
        assert spaced.json_text.encode() in body

    async def test_any_history_is_accepted_and_says_what_was_said(self) -> None:
        @settings(max_examples=100)
        @given(conversations(self.made.owner, self.made.opaque))
        def accepted(conversation: Conversation) -> None:
            body = json.loads(encode(self.made, conversation))
            assert self.made.objections(body) == []
            self._says(body, conversation)

        accepted()

    @pytest.mark.parametrize("name", ["parallel calls", "hints", "pictures"])
    async def test_the_witness_notices_a_result_out_of_place(self, name: str) -> None:
        """What the tests above rest on: a body with one result less, two swapped, or a hint too early is refused."""
        body = await self.sent(history(name, self.made.owner, self.made.opaque))

        broken = list(_broken(self.made, body))
        assert len(broken) == 3
        for what, one in broken:
            found = (*check(self.made.wire, one, self.made.spoken), *laws(self.made.wire, one))
            assert found, f"{what} was not noticed"


class PausingContract(WireContract):
    """Inherit it where the wire has a word for a turn that the provider pauses."""

    @STREAMED
    async def test_a_paused_turn_goes_back_as_it_is_and_goes_on(self, streamed: bool) -> None:
        emulator = self.made.emulator(specification.PAUSED, says("the other half"))

        outcome = await self.run(emulator, streamed=streamed)

        assert isinstance(outcome, Answered)
        second = read(self.made.wire, emulator.received[1].request)
        assert second == [Told("user", "hi"), Told("assistant", "half of it")]


def _tool_names(harness: ShippedHarness, body: Any) -> list[str]:
    return [tool["function"]["name"] if harness.wire == "chat" else tool["name"] for tool in body["tools"]]


def _system(harness: ShippedHarness, body: Any) -> str:
    match harness.wire:
        case "messages":
            return str(body["system"])
        case "responses":
            return str(body["instructions"])
        case "chat":
            content = body["messages"][0]["content"]
            # With a mark for a cache it is a list of one part.
            return str(content if isinstance(content, str) else "".join(part["text"] for part in content))


def _broken(harness: ShippedHarness, body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The body with one result less, with two results swapped, and with a hint before a result."""
    key = "input" if harness.wire == "responses" else "messages"
    for what in ("a missing result", "swapped results", "a hint before a result"):
        broken = deepcopy(body)
        holder: list[Any] = broken[key]
        if harness.wire == "messages":
            holder = next(one["content"] for one in holder if any(part.get("type") == "tool_result" for part in one["content"]))
        places = [place for place, one in enumerate(holder) if one.get("type") in RESULTS or one.get("role") == "tool"]
        first, second = places[:2]
        if what == "a missing result":
            del holder[second]
        elif what == "swapped results":
            holder[first], holder[second] = holder[second], holder[first]
        elif harness.wire == "messages":
            holder.insert(first, {"type": "text", "text": "a hint"})
        else:
            holder.insert(first, {"role": "user", "content": "a hint"})
        yield what, broken
