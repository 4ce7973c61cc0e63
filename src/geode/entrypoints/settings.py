"""What `session`, `run` and `Runtime` take: one declaration for all three."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from geode.domain.approval import Decision
from geode.domain.content import ToolUseBlock
from geode.domain.policy import Policy
from geode.domain.routing import Provider
from geode.ports.approval import Approver
from geode.ports.clock import Clock
from geode.ports.events import Observer
from geode.ports.journal import Journal
from geode.ports.model import ModelAdapter
from geode.ports.schema import SchemaValidator

if TYPE_CHECKING:
    import httpx2

Answer: TypeAlias = Callable[[ToolUseBlock], Decision | Awaitable[Decision]]


class Settings(TypedDict, total=False):
    """All by keyword; every one may be left out.

    `model`: a model id or an adapter (a ScriptedModel in tests); else the variable GEODE_MODEL.
    `tools`: functions, methods or Tool values. `providers`: servers of your own, for ids `NAME/MODEL`.
    `approve`: a function of one call, or an Approver; without it everything above MCP_TRUSTED is denied.
    `observe`: one observer of events or several. `policy`: every limit. `system`: the system text.
    `deps`: what `ToolContext.deps` is. `effort` and `temperature`: sent as given, or refused.
    `http`: a client of yours, used and never closed. `journal`, `clock`, `validator`: other adapters
    of these ports.
    """

    model: str | ModelAdapter
    tools: Sequence[Any]
    providers: Sequence[Provider]
    approve: Approver | Answer
    observe: Observer | Sequence[Observer]
    policy: Policy
    system: str
    deps: Any
    effort: str
    temperature: float
    http: httpx2.AsyncClient
    journal: Journal
    clock: Clock
    validator: SchemaValidator
