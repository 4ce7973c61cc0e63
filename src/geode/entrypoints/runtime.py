"""`Runtime` lends sessions that share tools, adapters and one HTTP client; `session` and `run` are the small forms."""

from __future__ import annotations

import asyncio
import logging
import math
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, Unpack, cast, runtime_checkable

from geode.application.agentic_loop import AgenticLoop
from geode.application.announcer import Announcer
from geode.application.askable import askable
from geode.application.auxiliary import Served, run_with_retry_policy, text_call
from geode.application.catalog import Catalog, said_of_denied
from geode.application.equipment import Surroundings
from geode.application.model_call import Asking
from geode.application.prompts import Prompt, items_of
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.loop.outcome import Outcome
from geode.domain.policy import Policy
from geode.domain.request import Limits
from geode.domain.results import Rendering
from geode.domain.thinking import Thinking, parse_thinking
from geode.domain.turns import UserTurn
from geode.entrypoints.approvers import AskEach, InTurn, takes_one
from geode.entrypoints.fallbacks import askables_of, fallbacks_of
from geode.entrypoints.long_results import LongResults, counter, long_results
from geode.entrypoints.providers import Connection, connect
from geode.entrypoints.resolution import Effort, HelperRole, Resolution, Resolved
from geode.entrypoints.settings import Answer, Settings, checked
from geode.ports.approval import Approver
from geode.ports.events import Observer
from geode.ports.hooks import Hooks
from geode.ports.images import ImageResizer
from geode.ports.journal import Journal
from geode.ports.model import ModelAdapter

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger("geode")


@runtime_checkable
class ChecksItsEnd(Protocol):
    """A model that has something to say when its runtime closes: a script that was not played to its end."""

    def finish(self) -> None: ...


class _DefaultModel:
    """The model of sessions that name none, for tests."""

    value: str | ModelAdapter | None = None


default = _DefaultModel()


class Runtime:
    """Everything that many sessions share. Use it as `async with`; it belongs to one event loop.

    Takes what `session` takes, and `max_sessions`: how many sessions may be lent at once (others
    wait). Whatever can be refused is refused here, before anything is opened.
    """

    def __init__(self, *, max_sessions: int | None = None, **settings: Unpack[Settings]) -> None:
        settings = checked(settings)
        self._prepared = prepare(settings)
        self._http = settings.get("http")
        self._max_sessions = _checked_max(max_sessions)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._adapters: dict[int, ModelAdapter] = {}

    async def __aenter__(self) -> Self:
        if self._loop is not None:
            raise Misuse("entered-twice", "this Runtime is open already; enter it once, and share it inside its `async with`")
        self._loop = asyncio.get_running_loop()
        # Made here, since each belongs to one event loop: a Runtime may be opened again in another.
        self._places = None if self._max_sessions is None else asyncio.Semaphore(self._max_sessions)
        self._connecting = asyncio.Lock()
        self._own_http: httpx2.AsyncClient | None = None
        self._open = AsyncExitStack()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.__aexit__(kind, error, trace)
        models: dict[int, object] = {**{id(model): model for model, _ in self._prepared.fallbacks}, **self._adapters}
        self._loop, self._adapters = None, {}
        for model in models.values():
            # A default model serves other sessions too; whoever set it checks its end.
            if error is None and model is not default.value and isinstance(model, ChecksItsEnd):
                model.finish()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AgenticLoop]:
        """Lend a loop that runs one run at a time."""
        self._check_loop()
        async with AsyncExitStack() as lent:
            if self._places is not None:
                await lent.enter_async_context(self._places)
            prepared = self._prepared
            asking = Asking(
                await self._opened(prepared.model),
                prepared.model_id,
                prepared.system,
                prepared.effort.of(prepared.model),
                prepared.temperature,
                prepared.thinking,
                askables_of(prepared.fallbacks, self._opened, prepared.effort, prepared.temperature, prepared.thinking),
            )
            catalog, shelf = prepared.long_results.opened(prepared.catalog, asking.windows.get(asking.model))
            if shelf is not None:
                lent.push_async_callback(shelf.close)
            loop = AgenticLoop(asking, catalog, prepared.policy, prepared.around, self._loop, shelf=shelf)
            lent.callback(loop.close)
            yield loop

    async def ask(
        self, text: str, *, role: HelperRole = "summary", conversation: Conversation | None = None, system: str = ""
    ) -> Served:
        """One answer beside any run and without tools, such as a summary of `conversation`: `.text`, `.usage`, `.owner`.

        By the model that is configured for the role (`summary_model`, `reflection_model`), else by the session's own, at
        the effort of the session; with the retries of the policy, and nobody in its place. Raises BillingError,
        AuthenticationError, RequestRefused or another ModelCallError, each with the facts in `failure`.
        """
        self._check_loop()
        prepared = self._prepared
        model, id = prepared.resolution.helper(role)
        adapter = await self._opened(model)
        helper = askable(adapter, id, effort=prepared.effort.of(model))
        policy, asked = prepared.policy, (conversation or Conversation()).grown(UserTurn(items_of(text)))
        limits = Limits(policy.max_output_tokens, policy.call_timeout_seconds, policy.idle_timeout_seconds)
        announcer = Announcer(prepared.around.new_run_id(), prepared.around.observers, None)
        try:
            return await run_with_retry_policy(
                helper,
                text_call(asked, system=system, limits=limits),
                clock=prepared.around.clock,
                policy=policy.retry,
                announcer=announcer,
            )
        finally:
            announcer.close()

    def _check_loop(self) -> None:
        running = asyncio.get_running_loop()
        if self._loop is None:
            raise Misuse("runtime-closed", "this Runtime is not open: async with geode.Runtime(…) as runtime")
        if running is not self._loop:
            raise Misuse(
                "other-loop", f"this Runtime belongs to {self._loop!r} and was used from {running!r}; make one per event loop"
            )

    async def _opened(self, model: ModelAdapter | Connection) -> ModelAdapter:
        """The adapter of a model of this runtime, made once."""
        async with self._connecting:
            if id(model) not in self._adapters:
                made = await connect(model, await self._client()) if isinstance(model, Connection) else model
                self._adapters[id(model)] = made
            return self._adapters[id(model)]

    async def _client(self) -> httpx2.AsyncClient:
        """The host's client, or one of our own, closed with this runtime."""
        if self._http is not None:
            return self._http
        if self._own_http is None:
            from geode.adapters.http_json.clients import new_http_client

            self._own_http = await self._open.enter_async_context(new_http_client())
        return self._own_http


@asynccontextmanager
async def _one(runtime: Runtime) -> AsyncIterator[AgenticLoop]:
    async with runtime, runtime.session() as loop:
        yield loop


class Session:
    """`async with geode.session(…) as loop`, once."""

    def __init__(self, runtime: Runtime) -> None:
        self._opened = _one(runtime)
        self._entered = False

    async def __aenter__(self) -> AgenticLoop:
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


_OF_LOOPS: Final = ("run", "stream", "resume", "stream_resume", "resume_run", "stop", "conversation")


def session(**settings: Unpack[Settings]) -> Session:
    """A session of its own: `async with geode.session(tools=[…]) as loop: await loop.run("…")`.

    Wrong settings are Misuse at once, before anything is opened. See `Settings` for what it takes.
    """
    return Session(Runtime(**settings))


async def run(
    prompt: Prompt, *, conversation: Conversation | None = None, tool_choice: Any = None, **settings: Unpack[Settings]
) -> Outcome:
    """One run in a session of its own. Returns the outcome; failures of providers and tools are in it."""
    async with session(**settings) as loop:
        return await loop.run(prompt, conversation=conversation, tool_choice=tool_choice)


# ---- settings to values ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prepared:
    """Settings, checked: everything a session needs but an open connection."""

    resolution: Resolution
    model: ModelAdapter | Connection
    model_id: str
    fallbacks: tuple[Resolved, ...]
    system: str
    effort: Effort
    temperature: float | None
    thinking: Thinking | None
    policy: Policy
    catalog: Catalog
    around: Surroundings
    long_results: LongResults


def prepare(settings: Settings) -> Prepared:
    """`settings` as values. Misuse for whatever cannot work."""
    from geode.adapters.clock_system import SystemClock
    from geode.adapters.schema_jsonschema import JsonschemaValidator
    from geode.entrypoints.tools import build_tools

    resolution = Resolution(settings, default.value)
    model, model_id = primary = resolution.primary
    fallbacks = fallbacks_of(settings, primary, resolution.resolved, resolution.chain_after(primary))
    deps = settings.get("deps")
    validator = settings.get("validator") or JsonschemaValidator()
    catalog = Catalog.of(build_tools(settings.get("tools", ()), deps, validator), validator)
    around = Surroundings(
        settings.get("clock") or SystemClock(),
        _journal(settings.get("journal")),
        lambda: uuid.uuid4().hex,
        _approver(settings),
        _observers(settings),
        deps,
        _hooks(settings),
        Rendering(dict(settings.get("renderers", {}))),
        _resizer(settings.get("resizer")),
        counter(settings),
    )
    policy = _policy(settings)
    if around.approver is None and (denied := said_of_denied(catalog.facts, policy.grants)):
        log.warning("%s", denied)
    return Prepared(
        resolution,
        model,
        model_id,
        fallbacks,
        settings.get("system", ""),
        resolution.effort,
        _temperature(settings),
        parse_thinking(settings.get("thinking")),
        policy,
        catalog,
        around,
        long_results(settings, catalog, policy, around),
    )


def _journal(journal: object) -> Journal:
    """The journal that `journal` is, or that keeps its runs in the folder of that name; nothing is kept without one."""
    if journal is None or journal == "":
        from geode.adapters.journal_memory import NoJournal

        return NoJournal()
    if isinstance(journal, str | Path):
        from geode.adapters.journal_file import FileJournal

        return FileJournal(journal)
    if not isinstance(journal, Journal):
        raise Misuse("journal-type", f"journal must be a folder or a geode.ports.Journal, got {type(journal).__name__}")
    return journal


def _resizer(resizer: object) -> ImageResizer:
    """The resizer that `resizer` is; without one, Pillow, which says itself where it is not installed."""
    if resizer is None:
        from geode.adapters.images_pillow import PillowImages

        return PillowImages()
    if isinstance(resizer, type) or not isinstance(resizer, ImageResizer):
        kind = resizer.__name__ if isinstance(resizer, type) else type(resizer).__name__
        raise Misuse("resizer-type", f"resizer must be an object with fitted(image, max_bytes=…, max_side=…), got {kind}")
    return resizer


def _approver(settings: Settings) -> Approver | None:
    approve: object = settings.get("approve")
    if approve is None:
        return None
    decide = getattr(approve, "decide", None)
    asked = approve if decide is None else decide
    if not callable(asked):
        raise Misuse("approve-type", f"approve must be a function of one call or an Approver, got {type(approve).__name__}")
    if not takes_one(asked):
        name = getattr(asked, "__qualname__", type(asked).__name__)
        raise Misuse("approve-type", f"approve={name} cannot be called with one argument, the call to answer for")
    return InTurn(AskEach(cast("Answer", approve)) if decide is None else cast("Approver", approve), approve)


def _observers(settings: Settings) -> tuple[Observer, ...]:
    observe = settings.get("observe")
    if observe is None:
        return ()
    several: Sequence[object] = observe if isinstance(observe, list | tuple) else (observe,)
    for observer in several:
        if not callable(observer):
            raise Misuse("observe-type", f"observe must be a function of one event, got {type(observer).__name__}")
    return cast("tuple[Observer, ...]", tuple(several))


def _hooks(settings: Settings) -> tuple[Hooks, ...]:
    hooks: object = settings.get("hooks")
    if hooks is None:
        return ()
    several = cast("Sequence[object]", hooks if isinstance(hooks, list | tuple) else (hooks,))
    for one in several:
        if not isinstance(one, Hooks):
            raise Misuse("hooks-type", f"hooks must be Hooks(before_tool=…), got {type(one).__name__}")
    return cast("tuple[Hooks, ...]", tuple(several))


def _temperature(settings: Settings) -> float | None:
    value: object = settings.get("temperature")
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise Misuse("temperature", f'temperature must be a number, got "{value}"')
    return float(value)


def _checked_max(max_sessions: object) -> int | None:
    if max_sessions is None:
        return None
    if not isinstance(max_sessions, int) or isinstance(max_sessions, bool) or max_sessions < 1:
        raise Misuse("max-sessions", f"max_sessions must be a whole number of 1 or more, got {max_sessions!r}")
    return max_sessions


def _policy(settings: Settings) -> Policy:
    policy: object = settings.get("policy")
    if policy is None:
        return Policy()
    if not isinstance(policy, Policy):
        raise Misuse("policy-type", f"policy must be a Policy, got {type(policy).__name__}: Policy(max_rounds=…)")
    return policy
