"""A Runtime lends sessions that share one client, and belongs to one event loop."""

import asyncio
from typing import Any

import httpx2
import pytest

import geode
from geode.domain.errors import Misuse
from geode.entrypoints.emulator import Emulator, running
from geode.testing import ScriptedModel, calls, says


@geode.tool(tier="safe")
async def get_weather(city: str) -> str:
    """Current weather."""
    return f"18 C in {city}"


def lab(base_url: str) -> geode.Provider:
    return geode.Provider("lab", wire="chat", base_url=f"{base_url}/v1")


async def weather_in(runtime: geode.Runtime, city: str) -> str:
    async with runtime.session() as loop:
        outcome = await loop.run(f"Weather in {city}?")
        assert isinstance(outcome, geode.Answered), outcome
        return outcome.text


async def test_a_hundred_runs_share_one_client_and_at_most_so_many_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    from geode.adapters.http_json import clients

    made: list[httpx2.AsyncClient] = []
    original = clients.new_http_client

    def counted() -> httpx2.AsyncClient:
        made.append(original())
        return made[-1]

    monkeypatch.setattr(clients, "new_http_client", counted)
    script = [calls(("get_weather", {"city": "Rome"})), says("18 C")]
    open_now = most = 0

    def observe(event: Any) -> None:
        nonlocal open_now, most
        name = type(event).__name__
        if name == "ModelCalled" and event.round == 1:
            open_now += 1
            most = max(most, open_now)
        if name == "Finished":
            open_now -= 1

    async with running(Emulator(script, by_conversation=True)) as server:
        settings: Any = {"model": "lab/m", "providers": [lab(server.base_url)], "tools": [get_weather], "observe": observe}
        async with geode.Runtime(max_sessions=20, **settings) as runtime:
            texts = await asyncio.gather(*(weather_in(runtime, str(n)) for n in range(100)))
        assert texts == ["18 C"] * 100
        assert len(server.emulator.received) == 200
        assert server.emulator.violations == ()
    assert most == 20
    assert len(made) == 1
    assert made[0].is_closed


async def test_a_client_of_the_host_is_used_and_never_closed() -> None:
    seen: list[str] = []

    async def note(request: httpx2.Request) -> None:
        seen.append(request.url.path)

    async with (
        running(Emulator([says("hello")])) as server,
        httpx2.AsyncClient(event_hooks={"request": [note]}, trust_env=False) as http,
    ):
        outcome = await geode.run("Hi", model="lab/m", providers=[lab(server.base_url)], http=http)
        assert outcome.text == "hello"
        assert seen == ["/v1/chat/completions"]
        assert not http.is_closed


async def test_a_scripted_model_opens_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    from geode.adapters.http_json import clients

    monkeypatch.setattr(clients, "new_http_client", None)
    assert (await geode.run("Hi", model=ScriptedModel(says("hello")))).text == "hello"


async def test_a_session_waits_for_its_turn() -> None:
    order: list[str] = []
    async with geode.Runtime(model=ScriptedModel(says("a"), says("b")), max_sessions=1) as runtime:

        async def use(name: str) -> None:
            async with runtime.session() as loop:
                order.append(f"+{name}")
                await loop.run("Hi")
                await asyncio.sleep(0.01)
                order.append(f"-{name}")

        await asyncio.gather(use("a"), use("b"))
    assert order == ["+a", "-a", "+b", "-b"]


def test_another_event_loop_is_misuse_that_names_both() -> None:
    runtime = geode.Runtime(model=ScriptedModel())

    async def enter() -> asyncio.AbstractEventLoop:
        await runtime.__aenter__()
        return asyncio.get_running_loop()

    async def use() -> tuple[Misuse, asyncio.AbstractEventLoop]:
        with pytest.raises(Misuse) as caught:
            async with runtime.session():
                pass
        return caught.value, asyncio.get_running_loop()

    first = asyncio.run(enter())
    misuse, second = asyncio.run(use())
    assert misuse.id == "other-loop"
    assert repr(first) in str(misuse)
    assert type(second).__name__ in str(misuse)
    assert str(misuse).count("EventLoop") >= 2


async def test_a_runtime_that_is_not_open_is_misuse() -> None:
    runtime = geode.Runtime(model=ScriptedModel())
    for _ in range(2):
        with pytest.raises(Misuse, match="async with") as caught:
            async with runtime.session():
                pass
        assert caught.value.id == "runtime-closed"
        async with runtime:
            pass


@pytest.mark.parametrize("count", [0, -1, "many", 1.5, True])
def test_a_number_of_sessions_that_is_none_is_misuse(count: Any) -> None:
    with pytest.raises(Misuse, match="max_sessions") as caught:
        geode.Runtime(model=ScriptedModel(), max_sessions=count)
    assert caught.value.id == "max-sessions"


async def test_sessions_share_nothing_but_what_they_were_given() -> None:
    async with geode.Runtime(model=ScriptedModel(says("one"), says("two"))) as runtime:
        async with runtime.session() as first, runtime.session() as second:
            await first.run("Hi")
            assert len(second.conversation.turns) == 0
            await second.run("Hello")
        assert first.conversation != second.conversation


async def test_an_exception_inside_a_session_is_the_one_that_is_seen() -> None:
    with pytest.raises(ZeroDivisionError):
        async with geode.session(model=ScriptedModel(says("never asked for"))):
            raise ZeroDivisionError


# ---- closed, elsewhere, twice ------------------------------------------------------------------


async def uses(loop: Any, how: str) -> None:
    if how == "stream":
        async for _ in loop.stream("Hi"):
            pass
    elif how == "resume":
        await loop.resume("{}", {})
    else:
        await loop.run("Hi")


@pytest.mark.parametrize("how", ["run", "stream", "resume"])
async def test_a_session_that_is_closed_runs_nothing(how: str) -> None:
    model = ScriptedModel()
    async with geode.session(model=model) as loop:
        pass
    with pytest.raises(Misuse) as caught:
        await uses(loop, how)
    assert caught.value.id == "session-closed"
    assert model.requests == []


@pytest.mark.parametrize("how", ["run", "stream", "resume"])
def test_a_session_is_used_in_its_own_event_loop(how: str) -> None:
    opening = geode.session(model=ScriptedModel())
    with asyncio.Runner() as first, asyncio.Runner() as second:
        loop = first.run(opening.__aenter__())
        with pytest.raises(Misuse) as caught:
            second.run(uses(loop, how))
        first.run(opening.__aexit__(None, None, None))
    assert caught.value.id == "other-loop"


@pytest.mark.parametrize("name", ["run", "stream", "resume", "stream_resume", "resume_run", "stop", "conversation"])
def test_a_session_that_was_not_opened_says_how(name: str) -> None:
    opening: Any = geode.session(model=ScriptedModel())
    with pytest.raises(Misuse, match=r"async with geode\.session") as caught:
        getattr(opening, name)
    assert caught.value.id == "session-closed"
    with pytest.raises(AttributeError, match="'Session' object has no attribute 'runs'"):
        _ = opening.runs


async def test_a_session_is_entered_once() -> None:
    opening = geode.session(model=ScriptedModel())
    async with opening:
        with pytest.raises(Misuse, match="once"):
            await opening.__aenter__()
    with pytest.raises(Misuse) as caught:
        async with opening:
            pass
    assert caught.value.id == "entered-twice"


async def test_a_runtime_is_open_once_at_a_time() -> None:
    async with geode.Runtime(model=ScriptedModel()) as runtime:
        with pytest.raises(Misuse) as caught:
            async with runtime:
                pass
    assert caught.value.id == "entered-twice"


def test_a_runtime_opens_again_in_another_event_loop() -> None:
    @geode.tool
    async def risky() -> str:
        return "done"

    async def ask(call: geode.ToolUseBlock) -> geode.Approve:
        await asyncio.sleep(0.001)
        return geode.Approve()

    outcomes: list[geode.Outcome] = []
    runtime = geode.Runtime(
        model=ScriptedModel(*[calls(("risky", {}))] * 3, *[says("done")] * 3, *[calls(("risky", {}))] * 3, *[says("done")] * 3),
        tools=[risky],
        approve=ask,
        max_sessions=3,
    )

    async def three() -> None:
        async def one() -> None:
            async with runtime.session() as loop:
                outcomes.append(await loop.run("Hi"))

        # The script is not at its end after the first time.
        await runtime.__aenter__()
        await asyncio.gather(one(), one(), one())
        await runtime.__aexit__(ValueError, ValueError(), None)

    for _ in range(2):
        asyncio.run(three())
    assert [[result.kind for result in outcome.conversation.results()] for outcome in outcomes] == [["ok"]] * 6


async def test_a_stream_that_was_left_says_how_to_leave_it() -> None:
    many = says("one")
    for _ in range(100):
        many += says("more")
    async with geode.session(model=ScriptedModel(many, says("two"))) as loop:
        left = loop.stream("Hi")
        await anext(left)
        await asyncio.sleep(0.01)
        with pytest.raises(Misuse, match="aclosing") as caught:
            await loop.run("Hi")
        assert caught.value.id == "one-run"
        async for _ in left:
            pass
        await loop.run("Hi")


@pytest.mark.parametrize("prompt", ["", " \n", [], ["", " "]])
async def test_an_empty_prompt_is_misuse(prompt: Any) -> None:
    model = ScriptedModel()
    with pytest.raises(Misuse) as caught:
        await geode.run(prompt, model=model)
    assert caught.value.id == "empty-prompt"
    assert model.requests == []
