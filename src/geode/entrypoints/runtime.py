"""`Runtime` lends sessions that share tools, adapters and one HTTP client; `session` and `run` are the small forms."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, Self, Unpack, overload, runtime_checkable

from geode.application.agentic_loop import AgenticLoop, Value
from geode.application.announcer import Announcer
from geode.application.asking import Asking, limits_of
from geode.application.auxiliary import Served, run_with_retry_policy, text_call, typed_call
from geode.application.compacting import Compaction
from geode.application.equipment import Surroundings
from geode.application.prompts import Prompt, items_of
from geode.application.structured import check_of
from geode.application.tools_in_force import Kit, SessionTools
from geode.domain.answers import answer_terms
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.loop.outcome import Outcome, TypedOutcome
from geode.domain.policy import Policy
from geode.domain.toolkits import ChooseToolkits, Toolkits
from geode.domain.turns import UserTurn
from geode.entrypoints.preparing import checked_toolkit, prepare, say_what_is_denied
from geode.entrypoints.routes.connections import Connection, connect, text_model
from geode.entrypoints.routes.session_models import HelperRole, default
from geode.entrypoints.settings import Settings, SettingsButAnswer, checked
from geode.entrypoints.subagents import Declared
from geode.ports.model import ModelAdapter

if TYPE_CHECKING:
    import httpx2


@runtime_checkable
class ChecksItsEnd(Protocol):
    """A model that has something to say when its runtime closes: a script that was not played to its end."""

    def finish(self) -> None: ...


class _Sessions(Generic[Value]):
    """What sessions of the same settings share; `outer` is the runtime of the session around, for those of a sub-agent."""

    def __init__(
        self, settings: Settings, max_sessions: int | None = None, *, outer: _Sessions | None = None, subagent: str = ""
    ) -> None:
        self._inner: list[_Sessions] = []
        self._outer, self._settings = outer, settings
        self._prepared = prepare(settings, self._lends, subagent)
        self._models = self._prepared.models
        self._http = settings.get("http")
        self._max_sessions = max_sessions
        self._loop: asyncio.AbstractEventLoop | None = None
        # By identity, each with what it was made of, so that no other can have its identity.
        self._adapters: dict[int, tuple[ModelAdapter | Connection, ModelAdapter]] = {}

    def _lends(self, declared: Declared, around: Surroundings) -> _Sessions:
        """The runtime of a sub-agent in this one, opened and closed with it."""
        made = _Sessions(declared.within(self._settings, around), outer=self, subagent=declared.name)
        self._inner.append(made)
        return made

    @property
    def policy(self) -> Policy:
        """The limits of each session."""
        return self._prepared.policy

    @property
    def around(self) -> Surroundings:
        """What each session is given besides its model and its tools."""
        return self._prepared.around

    async def __aenter__(self) -> Self:
        if self._loop is not None:
            raise Misuse("entered-twice", "this Runtime is open already; enter it once, and share it inside its `async with`")
        self._loop = asyncio.get_running_loop()
        # Made here, since each belongs to one event loop: a Runtime may be opened again in another.
        self._places = None if self._max_sessions is None else asyncio.Semaphore(self._max_sessions)
        self._connecting = asyncio.Lock()
        self._own_http: httpx2.AsyncClient | None = None
        self._open = AsyncExitStack()
        self._open.push_async_callback(self._prepared.tools.close)
        for inner in self._inner:
            await self._open.enter_async_context(inner)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        opened = {id(adapter): adapter for _, adapter in self._adapters.values()}
        models: dict[int, object] = {**{id(model): model for model, _ in self._models.fallbacks}, **opened}
        primary, _ = self._models.primary
        if self._outer is not None and not self._outer.asks(primary):
            # A sub-agent that was never called has a model that was never opened.
            models[id(primary)] = primary
        self._loop, self._adapters = None, {}
        await self._open.__aexit__(kind, error, trace)
        for model in models.values():
            # A default model serves other sessions too; whoever set it checks its end.
            if error is None and model is not default.value and isinstance(model, ChecksItsEnd):
                model.finish()

    @asynccontextmanager
    async def session(self, *, toolkit: Toolkits | ChooseToolkits = None) -> AsyncIterator[AgenticLoop[Value]]:
        """Lend a loop that runs one run at a time. With `toolkit`, of what the runtime allows only that may be used.

        Sources of tools are opened when the first session begins. ToolSourceError for a required one that fails.
        """
        self._check_loop()
        chosen = checked_toolkit(toolkit, self._prepared.tools)
        async with AsyncExitStack() as lent:
            if self._places is not None:
                await lent.enter_async_context(self._places)
            yield await lent.enter_async_context(self.lent(self.policy, self.around, chosen))

    @asynccontextmanager
    async def lent(self, policy: Policy, around: Surroundings, chosen: Kit = ()) -> AsyncIterator[AgenticLoop[Value]]:
        """A loop with these limits and surroundings instead of those that the settings say; `chosen` narrows its tools."""
        async with AsyncExitStack() as lent:
            prepared = self._prepared
            self._models = models = self._models.of_today()
            if policy.compact_above is not None:
                models.helper("summary")  # one that cannot be asked is told now, not when the conversation is too long
            model, id = models.primary
            asking = Asking(
                await self.opened(model),
                id,
                prepared.system,
                models.effort.of(model),
                prepared.temperature,
                prepared.thinking,
                models.askables(self.opened, prepared.temperature, prepared.thinking),
                models.price_of(model),
                prepared.answer,
                partial(models.summariser, self.opened),
                self._settings.get("cache", "auto") == "auto",
            )
            async with self._connecting:
                if await prepared.tools.open():
                    say_what_is_denied(prepared)
            extra, shelf = prepared.long_results.opened(asking.window)
            if shelf is not None:
                lent.push_async_callback(shelf.close)
            kits = tuple(kit for kit in (prepared.toolkit, chosen) if kit)
            tools = SessionTools(prepared.tools, extra, kits, around.deps, policy.defer_above)
            loop = AgenticLoop(asking, tools, policy, around, self._loop, shelf=shelf)
            lent.callback(loop.close)
            yield loop

    async def ask(
        self,
        text: str,
        *,
        role: HelperRole = "summary",
        conversation: Conversation | None = None,
        system: str = "",
        response_schema: Mapping[str, Any] | None = None,
    ) -> Served:
        """One answer beside any run and without tools, such as a summary of `conversation`: `.text`, `.usage`, `.owner`.

        By the model that is configured for the role (`summary_model`, `reflection_model`), else by the session's own, at
        the effort of the session; with the retries of the policy, and nobody in its place. With a `response_schema` the
        answer has a `.value`, validated here, and `.typed` says what became of it; one that does not fit is asked for
        again, `Policy.answer_repairs` times. Raises BillingError,
        AuthenticationError, RequestRefused or another ModelCallError, each with the facts in `failure`.
        """
        self._check_loop()
        prepared = self._prepared
        helper = self._models.askable(self._models.helper(role), self.opened)
        policy, asked = prepared.policy, (conversation or Conversation()).grown(UserTurn(items_of(text)))
        run_id = prepared.around.new_run_id()
        announcer = Announcer(run_id, prepared.around.observers, None)

        async def served(conversation: Conversation) -> Served:
            ask = text_call(
                conversation, system=system, limits=limits_of(policy), response_schema=response_schema, affinity=run_id
            )
            clock = prepared.around.clock
            return await run_with_retry_policy(helper, ask, clock=clock, policy=policy.retry, announcer=announcer)

        try:
            if response_schema is None:
                return await served(asked)
            check, terms = check_of(response_schema, prepared.validator), answer_terms(response_schema)
            return await typed_call(served, asked, check, terms, policy.answer_repairs)
        finally:
            announcer.close()

    async def compact(self, conversation: Conversation) -> Compaction:
        """`conversation` made shorter, in a session that is lent for it; see `AgenticLoop.compact`."""
        async with self.session() as loop:
            return await loop.compact(conversation)

    def _check_loop(self) -> None:
        running = asyncio.get_running_loop()
        if self._loop is None:
            raise Misuse("runtime-closed", "this Runtime is not open: async with geode.Runtime(…) as runtime")
        if running is not self._loop:
            raise Misuse(
                "other-loop", f"this Runtime belongs to {self._loop!r} and was used from {running!r}; make one per event loop"
            )

    async def opened(self, model: ModelAdapter | Connection) -> ModelAdapter:
        """The adapter of a model of this runtime, made once; by the one around it, where that asks the same."""
        if self._outer is not None and self._outer.asks(model):
            return await self._outer.opened(model)
        async with self._connecting:
            if id(model) not in self._adapters:
                made = await self._connected(model) if isinstance(model, Connection) else model
                self._adapters[id(model)] = (model, made)
            return self._adapters[id(model)][1]

    async def _connected(self, connection: Connection) -> ModelAdapter:
        return text_model(connection) or await connect(connection, await self.client())

    async def client(self) -> httpx2.AsyncClient:
        """The host's client, or one of our own, closed with this runtime, or with the one around it."""
        if self._http is not None:
            return self._http
        if self._outer is not None:
            return await self._outer.client()
        if self._own_http is None:
            from geode.adapters.http_json.clients import new_http_client

            self._own_http = await self._open.enter_async_context(new_http_client())
        return self._own_http

    def asks(self, model: ModelAdapter | Connection) -> bool:
        """Whether it is one of its own models, or of those around."""
        own = (self._models.primary, *self._models.fallbacks)
        return any(model is one for one, _ in own) or (self._outer is not None and self._outer.asks(model))


class Runtime(_Sessions[Value]):
    """Everything that many sessions share. Use it as `async with`; it belongs to one event loop.

    Takes what `session` takes, and `max_sessions`: how many sessions may be lent at once (others
    wait). Whatever can be refused is refused here, before anything is opened.
    """

    @overload
    def __init__(
        self, *, answer: type[Value], max_sessions: int | None = None, **settings: Unpack[SettingsButAnswer]
    ) -> None: ...

    @overload
    def __init__(self: Runtime[Any], *, max_sessions: int | None = None, **settings: Unpack[Settings]) -> None: ...

    def __init__(self, *, max_sessions: int | None = None, **settings: Unpack[Settings]) -> None:
        super().__init__(checked(settings), _checked_max(max_sessions))


@asynccontextmanager
async def _one(runtime: Runtime[Value]) -> AsyncIterator[AgenticLoop[Value]]:
    async with runtime, runtime.session() as loop:
        yield loop


class Session(Generic[Value]):
    """`async with geode.session(…) as loop`, once."""

    def __init__(self, runtime: Runtime[Value]) -> None:
        self._opened = _one(runtime)
        self._entered = False

    async def __aenter__(self) -> AgenticLoop[Value]:
        if self._entered:
            raise Misuse("entered-twice", "a session is entered once; each `async with` takes a geode.session(…) of its own")
        self._entered = True
        return await self._opened.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.__aexit__(kind, error, trace)

    if not TYPE_CHECKING:  # type checkers are to say so themselves

        def __getattr__(self, name: str) -> Any:
            if name in _OF_LOOPS:
                raise Misuse("session-closed", f"a session is opened first: async with geode.session(…) as loop: loop.{name}")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


_OF_LOOPS: Final = (
    *("run", "stream", "resume", "stream_resume", "resume_run", "compact", "stop"),
    *("conversation", "spent", "take_results_of"),
)


@overload
def session(*, answer: type[Value], **settings: Unpack[SettingsButAnswer]) -> Session[Value]: ...


@overload
def session(**settings: Unpack[Settings]) -> Session: ...


def session(**settings: Unpack[Settings]) -> Session:
    """A session of its own: `async with geode.session(tools=[…]) as loop: await loop.run("…")`.

    Wrong settings are Misuse at once, before anything is opened. See `Settings` for what it takes.
    """
    return Session(Runtime(**settings))


@overload
async def run(
    prompt: Prompt,
    *,
    answer: type[Value],
    conversation: Conversation | None = None,
    tool_choice: Any = None,
    **settings: Unpack[SettingsButAnswer],
) -> TypedOutcome[Value]: ...


@overload
async def run(
    prompt: Prompt, *, conversation: Conversation | None = None, tool_choice: Any = None, **settings: Unpack[Settings]
) -> Outcome: ...


async def run(
    prompt: Prompt, *, conversation: Conversation | None = None, tool_choice: Any = None, **settings: Unpack[Settings]
) -> Outcome:
    """One run in a session of its own. Returns the outcome; failures of providers and tools are in it."""
    async with session(**settings) as loop:
        return await loop.run(prompt, conversation=conversation, tool_choice=tool_choice)


def _checked_max(max_sessions: object) -> int | None:
    if max_sessions is None:
        return None
    if not isinstance(max_sessions, int) or isinstance(max_sessions, bool) or max_sessions < 1:
        raise Misuse("max-sessions", f"max_sessions must be a whole number of 1 or more, got {max_sessions!r}")
    return max_sessions
