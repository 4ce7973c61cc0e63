"""ScriptedModel: the model port, played from a script."""

from __future__ import annotations

import asyncio

from returns.result import Failure, Result, Success

from geode.domain.arguments import tool_use
from geode.domain.content import Opaque, Owner, Text, ToolUseBlock
from geode.domain.errors import Misuse
from geode.domain.failures import CallFailure
from geode.domain.json_value import dump_json
from geode.domain.reply import AdapterCallResult, ReplyItem, Stop
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.retry import read_retry_hint
from geode.domain.script import Called, Drops, Fails, Hangs, Malformed, Reply, Said, Step, Thought, step_problem
from geode.domain.usage import Usage
from geode.ports.model import CallPart, Emit, TextPart, ThinkingPart


class ScriptUnused(AssertionError):
    """The run ended before the script did."""


class ScriptExhausted(AssertionError):
    """The model was called more often than the script has steps."""


class ScriptedModel:
    """Plays its steps in order, one for each model call; give it wherever a model id is taken.

    `requests` holds what was asked; `name` tells several in one run apart. A call beyond the script, and steps that
    are left when the session closes, fail the test by themselves.
    """

    name = "scripted"

    def __init__(self, *steps: Step, capabilities: Capabilities | None = None, name: str = "") -> None:
        for number, step in enumerate(steps, 1):
            problem = step_problem(step)
            if problem:
                raise Misuse("script-step", f"ScriptedModel, step {number}: {problem}")
        self.name = name or self.name
        self.capabilities = capabilities or Capabilities(response_schema=True)
        self.requests: list[AdapterCallRequest] = []
        self._steps = steps

    def finish(self) -> None:
        """Fail unless every step was played, and none was missing: a tool that asks this model may have hidden that."""
        self._check_length()
        left = self._steps[len(self.requests) :]
        if left:
            raise ScriptUnused(f"{len(left)} of {len(self._steps)} steps were never asked for; the next one is {left[0]!r}")

    def _check_length(self) -> None:
        if len(self.requests) > len(self._steps):
            raise ScriptExhausted(f"the model was called {len(self.requests)} times, the script has {len(self._steps)} steps")

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        self.requests.append(request)
        self._check_length()
        match self._steps[len(self.requests) - 1]:
            case Reply() as reply:
                return Success(await self._reply(reply, request, emit))
            case Fails() as failed:
                hint = read_retry_hint({name.lower(): value for name, value in failed.headers}, 0.0)
                return Failure(CallFailure(failed.status, "response", failed.message, error_code=failed.code or "", hint=hint))
            case Hangs():
                await asyncio.Event().wait()
                raise AssertionError("an event that nobody sets was set")
            case Drops(at=at, reply=reply):
                if at in ("connect", "headers"):
                    return Failure(CallFailure(None, "connect", "the connection was cut"))
                if at != "before_output":
                    await self._reply(reply, request, emit)
                return Failure(CallFailure(None, "stream", "the stream was cut"))
            case Malformed(kind=kind):
                return Failure(CallFailure(200, "response", f"answered 200 with {kind.replace('_', ' ')}"))

    async def _reply(self, reply: Reply, request: AdapterCallRequest, emit: Emit) -> AdapterCallResult:
        owner = Owner(self.name, request.model)
        items: list[ReplyItem] = []
        for index, item in enumerate(reply.items):
            match item:
                case Said(text=text):
                    items.append(Text(text))
                case Thought():
                    items.append(Opaque(owner, "thinking", dump_json({"text": item.text, "signature": item.signature})))
                case Called():
                    items.append(_call(item, len(self.requests), index))
            if request.streamed:
                await _emit(index, item, emit)
        usage = Usage(reply.input_tokens, reply.output_tokens)
        refusal = {"type": "refusal", "category": reply.refusal_category} if reply.stop == "refusal" else None
        return AdapterCallResult(tuple(items), Stop(reply.stop_word), usage, reply.stop_word, refusal, request.model)


def _call(called: Called, round: int, index: int) -> ToolUseBlock:
    id = f"call_{round}_{index}" if called.id is None else called.id
    return tool_use(id, called.name, called.arguments)


async def _emit(index: int, item: Said | Thought | Called, emit: Emit) -> None:
    match item:
        case Said(text=text):
            await emit(TextPart(index, text))
        case Thought(text=text):
            await emit(ThinkingPart(index, text))
        case Called(name=name, arguments=arguments):
            shown = arguments if isinstance(arguments, str) else dump_json(arguments or {})
            await emit(CallPart(index, name, shown))
