"""What a handler of a tool is given, and how it says that it failed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from geode.domain.errors import GeodeError
from geode.domain.loop.inner import Allowance
from geode.domain.naming import shown_name
from geode.domain.spent import Spent
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolSpec
from geode.domain.usage import Usage
from geode.ports.events import Event
from geode.ports.results import StoredResults

Deps = TypeVar("Deps")


def _unheard(_message: str) -> None:
    """Progress of a tool that nobody watches."""


def _uncounted(_usage: Usage) -> None:
    """Spending of a tool whose run nobody counts."""


class ToolError(GeodeError):
    """Raised by a tool to fail with a text that the model is told; `recoverable` False: trying again cannot help.

    `detail` is told to the operator, and never to the model.
    """

    def __init__(self, message: str, *, recoverable: bool = True, detail: str = "") -> None:
        super().__init__(message)
        self.recoverable, self.detail = recoverable, detail


class OutcomeUnknown(ToolError):
    """Raised by a tool that lost sight of what it had begun: it may or may not have had its effect."""


class NothingStored:
    """The stored results of a session that keeps none."""

    async def text(self, ref_id: str) -> str:
        return self.text_now(ref_id)

    def text_now(self, ref_id: str) -> str:
        raise ToolError(f"{shown_name(ref_id)}: long results are not kept in this session", recoverable=False)


class InnerRun(Protocol):
    """A run inside a call, as far as the run around it has to know it."""

    @property
    def spent(self) -> Spent:
        """What it has spent so far."""
        ...

    def stop(self) -> None:
        """End it soon."""
        ...


class OuterRun(Protocol):
    """The run around a call, for a tool that is a run itself."""

    @property
    def inner_run_id(self) -> str:
        """The id of the run inside this call: the same for the same call of the same run, in whichever process."""
        ...

    @property
    def heard(self) -> bool:
        """Whether anybody listens to events."""
        ...

    @property
    def streamed(self) -> bool:
        """Whether anybody wants deltas."""
        ...

    def allowance(self) -> Allowance:
        """What is left for the run inside this call, which it holds from here on."""
        ...

    def contains(self, run: InnerRun) -> None:
        """`run` is about to begin: it is stopped with the outer one, and what it spends is spent there.

        ToolError where the outer run is being stopped.
        """
        ...

    async def tell(self, event: Event) -> None:
        """Tell an event of the inner run, as `Nested`."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext(Generic[Deps]):
    """What a tool may know of its call. Injected by its type, never part of the schema.

    `deps` are the host's own dependencies; `idempotency_key` is the same for the same call of the
    same run, in whichever process it runs; `deadline_seconds` is how long the call may take;
    `progress` tells observers, never the model. `results` has the long results of the session whole: a
    tool that takes a `ref_id` reads `await ctx.results.text(ref_id)`, or `ctx.results.text_now(ref_id)` in
    a thread. A tool that asks a model by itself says what that used, each time, and the run's budgets count it:
    `ctx.spend(Usage(input_tokens=900, output_tokens=80))`. `outer` is for tools that are runs themselves.
    """

    deps: Deps
    call_id: str
    idempotency_key: str
    deadline_seconds: float
    run_id: str = ""
    progress: Callable[[str], None] = field(default=_unheard, repr=False)
    results: StoredResults = field(default=NothingStored(), repr=False)
    spend: Callable[[Usage], None] = field(default=_uncounted, repr=False)
    outer: OuterRun | None = field(default=None, repr=False)


class ToolRetry(ToolError):
    """Raised by a tool to fail with a text that tells the model how to call it better."""


Invoke: TypeAlias = Callable[[Mapping[str, Any], ToolContext[Any]], Awaitable[Any] | Any]


@dataclass(frozen=True, slots=True)
class NotRun:
    """What a reconciler says of a call that had no effect, so that it is run."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool bound to its handler.

    `invoke` gets arguments that fit the schema. `blocking` says that it may block its thread: it then
    runs in a thread of geode's own. `place` is where it was written, for messages.

    When a run is taken up whose process ended during a call, nobody knows what the call has done.
    `idempotent` promises that running it again, with the same `ToolContext.idempotency_key`, has the
    effect of once. `reconcile` finds out: it gets the arguments and the context of the call and returns
    the result that the call had, or NotRun(). `deferred`: where there are many tools it need not be in the list
    that every request carries; the model finds it by searching. The rest is explained at `ToolFacts`.
    """

    spec: ToolSpec
    tier: SafetyTier
    invoke: Invoke
    blocking: bool = False
    timeout_seconds: float | None = None
    place: str = ""
    alternative: str | None = None
    fallback: str | None = None
    max_calls: int | None = None
    poller: bool = False
    idempotent: bool = False
    reconcile: Invoke | None = None
    deferred: bool = False
    origin: str = ""
    contains_run: bool = False
