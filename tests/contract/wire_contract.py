"""What the wire of an adapter over HTTP keeps: tool choice, definitions, and the replay of any history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings

import geode
from geode.adapters.http_json.clients import new_http_client
from geode.domain.content import Opaque, Text
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.loop.outcome import Answered, Failed, Outcome
from geode.domain.policy import Policy
from geode.domain.retry import RetryPolicy
from geode.domain.script import calls, says
from geode.domain.turns import AssistantTurn
from geode.domain.wire_names import sent_name
from geode.entrypoints.emulator import Emulator, check, laws
from geode.events import Finished
from tests.contract import specification
from tests.contract.adapter_contract import STREAMED, AdapterContract, reply_of
from tests.contract.histories import REPLAYS, TOOLS, conversations, history, user
from tests.contract.http import HttpHarness, encode, nowhere, request, serve
from tests.contract.reading import FITS, Told, expected, ids, read, same
from tests.contract.servers import canned, head

# No waiting between attempts: how long is waited is another test's business.
AT_ONCE = RetryPolicy(base_seconds=0.0)
RESULTS = ("tool_result", "function_call_output")


def read_file(path: str) -> str:
    """Read a file."""
    return f"content of {path}"


READER = geode.tool(tier="safe", name="read")(read_file)


class WireContract(AdapterContract):
    """Inherit, and give `harness`."""

    harness: ClassVar[HttpHarness]

    # ---- running -------------------------------------------------------------------------------

    async def run(
        self, emulator: Emulator, *, streamed: bool = False, model: str | None = None, tool_choice: Any = None, **settings: Any
    ) -> Outcome:
        """One run of an application against the emulator."""
        given: dict[str, Any] = {"tools": [READER], "policy": Policy(retry=AT_ONCE), **settings}
        provider = self.harness.provider(serve(emulator))
        async with geode.session(model=f"lab/{model or self.harness.model}", providers=[provider], **given) as loop:
            if not streamed:
                return await loop.run("hi", tool_choice=tool_choice)
            async for event in loop.stream("hi", tool_choice=tool_choice):
                if isinstance(event, Finished):
                    return event.outcome
        raise AssertionError("the run did not finish")

    async def sent(self, conversation: Conversation, **changes: Any) -> dict[str, Any]:
        """The body that leaves for `conversation`, judged by the emulator."""
        emulator = self.harness.emulator(says("ok"), refuse=False)
        async with new_http_client() as http:
            adapter = await self.harness.connect(serve(emulator), http)
            reply_of(await adapter.acomplete(request(self.harness, conversation, **changes), nowhere))
        (one,) = emulator.received
        assert one.violations == ()
        assert laws(self.harness.wire, one.request) == ()
        return dict(one.request)

    # ---- tool choice: spec section 2 -----------------------------------------------------------

    @pytest.mark.parametrize(("spelling", "wire_values"), specification.CHOICES, ids=lambda value: json.dumps(value)[:40])
    async def test_every_spelling_has_its_value_on_the_wire(self, spelling: Any, wire_values: Any) -> None:
        wanted = wire_values[self.harness.wire]
        calling = wire_values in (specification.REQUIRED, specification.NAMED)
        script = (calls(specification.READ), says("done")) if calling else (says("done"),)
        emulator = self.harness.emulator(*script)

        outcome = await self.run(emulator, tool_choice=spelling)

        assert isinstance(outcome, Answered), outcome
        first, *later = [one.request for one in emulator.received]
        assert first["tool_choice"] == wanted
        assert all(one["tool_choice"] == specification.AUTO[self.harness.wire] for one in later), "it holds for one round"
        assert [_tool_names(self.harness, one) for one in (first, *later)] == [["read"]] * len(script)
        for one in (first, *later):
            assert one.get("parallel_tool_calls") == (True if self.harness.parallel else None)
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
            }[self.harness.wire]
            for name, text, schema in plain
        ]  # fmt: skip

    async def test_without_tools_nothing_is_said_of_them(self) -> None:
        body = await self.sent(Conversation((user("hi"),)), tools=())

        assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)

    @pytest.mark.parametrize("spelling", specification.UNKNOWN_CHOICES, ids=repr)
    async def test_an_unknown_choice_is_refused_before_anything_leaves(self, spelling: Any) -> None:
        emulator = self.harness.emulator(says("never"))

        with pytest.raises(Misuse, match="unknown") as raised:
            await self.run(emulator, tool_choice=spelling)

        assert "auto, none, required" in str(raised.value)
        assert emulator.received == []

    async def test_a_choice_of_a_tool_that_is_not_there_is_refused_before_anything_leaves(self) -> None:
        emulator = self.harness.emulator(says("never"))

        with pytest.raises(Misuse, match=r'"write".*read'):
            await self.run(emulator, tool_choice={"type": "tool", "name": "write"})

        assert emulator.received == []

    @pytest.mark.parametrize("spelling", specification.FORCED, ids=str)
    async def test_a_choice_that_the_model_does_not_take_is_refused_here(self, spelling: Any) -> None:
        for model in (*self.harness.auto_only, self.harness.model):
            emulator = self.harness.emulator(calls(specification.READ), says("done"))

            outcome = await self.run(emulator, model=model, tool_choice=spelling)

            if model not in self.harness.auto_only:
                assert isinstance(outcome, Answered)
                continue
            assert isinstance(outcome, Failed)
            shown = '"read"' if isinstance(spelling, dict) else spelling
            assert all(word in str(outcome.error) for word in ("lab", model, shown)), outcome.error
            assert emulator.received == []

    async def test_a_temperature_is_sent_or_refused_and_never_dropped(self) -> None:
        emulator = self.harness.emulator(says("done"))

        outcome = await self.run(emulator, temperature=0.5)

        if self.harness.temperature:
            assert isinstance(outcome, Answered)
            assert emulator.received[0].request["temperature"] == 0.5
        else:
            assert isinstance(outcome, Failed)
            assert "temperature" in str(outcome.error)
            assert emulator.received == []

    # ---- replay: spec section 3 ----------------------------------------------------------------

    @STREAMED
    @pytest.mark.parametrize("name", REPLAYS)
    async def test_a_history_is_accepted_and_says_what_was_said(self, name: str, streamed: bool) -> None:
        conversation = history(name, self.harness.owner, self.harness.opaque)
        stored = conversation.dumps()

        body = await self.sent(conversation, streamed=streamed, system="Be good.")

        self._says(body, conversation)
        assert conversation.dumps() == stored, "encoding changes nothing that is stored"
        assert _system(self.harness, body) == "Be good."

    @pytest.mark.parametrize("name", REPLAYS)
    async def test_a_history_is_accepted_where_no_tools_are_given_any_more(self, name: str) -> None:
        """Where a server wants the tools of calls defined, they are: by name, in order of first use, and none to be called."""
        conversation = history(name, self.harness.owner, self.harness.opaque)
        names = dict.fromkeys(sent_name(call.name) for turn in conversation.turns for call in getattr(turn, "calls", ()))

        body = await self.sent(conversation, tools=())

        self._says(body, conversation)
        if names and self.harness.calls_need_tools:
            assert _tool_names(self.harness, body) == list(names)
            assert "no longer available" in json.dumps(body["tools"][0])
            assert body["tool_choice"] == specification.NONE[self.harness.wire]
        else:
            assert not {"tools", "tool_choice"} & set(body)

    async def test_a_run_without_tools_goes_on_after_one_with_tools(self) -> None:
        emulator = self.harness.emulator(calls(specification.READ), says("read"), calls(("invented", {})), says("so"))
        model, providers = f"lab/{self.harness.model}", [self.harness.provider(serve(emulator))]
        first = await geode.run("hi", model=model, providers=providers, tools=[READER])

        second = await geode.run("and then?", model=model, providers=providers, conversation=first.conversation)

        assert isinstance(second, Answered), second
        assert emulator.violations == ()

    def _says(self, body: dict[str, Any], conversation: Conversation) -> None:
        found = read(self.harness.wire, _without_system(self.harness, body))
        wanted = expected(self.harness.wire, conversation, self.harness.owner)
        assert same(found, wanted), f"it says\n{found}\nand should say\n{wanted}"
        sent = ids(found)
        assert len(set(sent)) == len(sent)
        assert all(FITS.fullmatch(id) for id in sent)
        turns = [turn for turn in conversation.turns if isinstance(turn, AssistantTurn)]
        made = [(call.id, turn.made_by) for turn in turns for call in turn.calls]
        own = [
            (mine, its)
            for (mine, by), its in zip(made, sent, strict=True)
            if by == self.harness.owner and FITS.fullmatch(mine) and not mine.startswith("call_g")
        ]
        assert all(mine == its for mine, its in own), "a provider gets its own ids back"

    async def test_opaque_items_go_back_byte_for_byte(self) -> None:
        item = self.harness.opaque(self.harness.owner, 1)
        spaced = Opaque(item.owner, item.kind, json.dumps(json.loads(item.json_text), ensure_ascii=True, indent=1))
        conversation = Conversation((user("go"), AssistantTurn((spaced, Text("So.")), self.harness.owner), user("and?")))
        async with canned(head("application/json", 400), b"{}") as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            await adapter.acomplete(request(self.harness, conversation), nowhere)

        ((_, body),) = server.requests
        assert spaced.json_text.encode() in body

    def test_any_history_is_accepted_and_says_what_was_said(self) -> None:
        @settings(max_examples=100)
        @given(conversations(self.harness.owner, self.harness.opaque))
        def accepted(conversation: Conversation) -> None:
            body = json.loads(encode(self.harness, conversation))
            assert check(self.harness.wire, body, self.harness.spoken) == ()
            assert laws(self.harness.wire, body) == ()
            self._says(body, conversation)

        accepted()

    @pytest.mark.parametrize("name", ["parallel calls", "hints", "pictures"])
    async def test_the_witness_notices_a_result_out_of_place(self, name: str) -> None:
        """What the tests above rest on: a body with one result less, two swapped, or a hint too early is refused."""
        body = await self.sent(history(name, self.harness.owner, self.harness.opaque))

        broken = list(_broken(self.harness, body))
        assert len(broken) == 3
        for what, one in broken:
            found = (*check(self.harness.wire, one, self.harness.spoken), *laws(self.harness.wire, one))
            assert found, f"{what} was not noticed"


class PausingContract(WireContract):
    """Inherit it where the wire has a word for a turn that the provider pauses."""

    @STREAMED
    async def test_a_paused_turn_goes_back_as_it_is_and_goes_on(self, streamed: bool) -> None:
        emulator = self.harness.emulator(specification.PAUSED, says("the other half"))

        outcome = await self.run(emulator, streamed=streamed)

        assert isinstance(outcome, Answered)
        second = read(self.harness.wire, emulator.received[1].request)
        assert second == [Told("user", "hi"), Told("assistant", "half of it")]


def _tool_names(harness: HttpHarness, body: Any) -> list[str]:
    return [tool["function"]["name"] if harness.wire == "chat" else tool["name"] for tool in body["tools"]]


def _system(harness: HttpHarness, body: Any) -> str:
    match harness.wire:
        case "messages":
            return str(body["system"])
        case "responses":
            return str(body["instructions"])
        case "chat":
            return str(body["messages"][0]["content"])


def _without_system(harness: HttpHarness, body: dict[str, Any]) -> dict[str, Any]:
    if harness.wire != "chat":
        return body
    return {**body, "messages": [one for one in body["messages"] if one["role"] != "system"]}


def _broken(harness: HttpHarness, body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
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
