"""Calling the hooks of an application: what they change is checked and told, and what breaks in them is contained."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, get_args

from geode.application.announcer import Announcer
from geode.application.catalog import Checks
from geode.application.foreign import copied, explained, handed, kind_of, warn
from geode.domain.content import MEDIA, ResultKind, Text, ToolResult, ToolUseBlock, result
from geode.domain.conversation import Conversation
from geode.domain.json_value import clean_json, dump_json
from geode.domain.loop.compacting import compaction_problem
from geode.domain.request import AdapterCallRequest
from geode.domain.verdicts import Valid
from geode.ports import events
from geode.ports.hooks import CHANGEABLE, HookPoint, Hooks, Veto

Value = TypeVar("Value")

BROKE: Final = "a check of the application failed, so the call was not run"


@dataclass(frozen=True, slots=True)
class Broke:
    """A hook did not do its work; the operator is told why."""

    why: str


Decided: TypeAlias = Value | Veto | Broke


class Hooking:
    """The hooks of one run. Several are called one after the other, each with what the one before made of it."""

    def __init__(self, hooks: Sequence[Hooks], catalog: Checks, announcer: Announcer, seconds: float) -> None:
        self._catalog, self._announcer, self._seconds = catalog, announcer, seconds
        self._before_model = [hook.before_model for hook in hooks if hook.before_model]
        self._before_tool = [hook.before_tool for hook in hooks if hook.before_tool]
        self._after_result = [hook.after_result for hook in hooks if hook.after_result]
        self._compact = [hook.compact for hook in hooks if hook.compact]

    @property
    def before_tools(self) -> bool:
        """Whether anything is called before a tool call."""
        return bool(self._before_tool)

    @property
    def after_results(self) -> bool:
        """Whether anything is called after a result."""
        return bool(self._after_result)

    async def before_model(self, request: AdapterCallRequest) -> AdapterCallRequest | Veto:
        """The request as it may leave. A hook that breaks is a veto: what it guards must not leave unguarded."""
        for hook in self._before_model:
            answer = await self._asked("before_model", partial(hook, request), AdapterCallRequest)
            found = _checked_request(request, answer) if isinstance(answer, AdapterCallRequest) else answer
            match found:
                case None:
                    continue
                case AdapterCallRequest():
                    await self._changed("before_model", None, _differences(request, found))
                    request = found
                case Veto(why):
                    await self._vetoed("before_model", None, why)
                    return Veto(f"the model call was vetoed: {why}")
                case Broke(why):
                    await self.broke("before_model", why)
                    return Veto(f"the hook before the model call failed: {why}")
        return request

    async def before_tool(self, call: ToolUseBlock) -> ToolUseBlock | Veto:
        """The call as it is to run. A hook that breaks is a veto."""
        for hook in self._before_tool:
            answer = await self._asked("before_tool", partial(hook, handed(call)), ToolUseBlock)
            found = self._checked_call(call, answer) if isinstance(answer, ToolUseBlock) else answer
            match found:
                case None:
                    continue
                case ToolUseBlock():
                    await self._changed("before_tool", call, {"input": copied(found.input)})
                    call = found
                case Veto(why):
                    await self._vetoed("before_tool", call, why)
                    return found
                case Broke(why):
                    await self.broke("before_tool", f"{why}; {call.name} ({call.id}) is denied")
                    return Veto(BROKE)
        return call

    async def after_result(self, call: ToolUseBlock, came: ToolResult) -> ToolResult:
        """The result as it counts. When a hook breaks, what came stands."""
        for hook in self._after_result:
            answer = await self._asked("after_result", partial(hook, handed(call), came), ToolResult)
            match answer:
                case None:
                    continue
                case ToolResult() if not _is_result_of(call, answer):
                    await self.broke("after_result", f"it returned no result of {call.name} ({call.id}); what came stands")
                case ToolResult():
                    new = {"kind": answer.kind, "text": answer.text} if answer != came else {}
                    await self._changed("after_result", call, new)
                    came = answer
                case Veto(why):
                    await self._vetoed("after_result", call, why)
                    return result(call.id, "denied", f"denied: {call.name} ran, and its result is withheld: {why}")
                case Broke(why):
                    await self.broke("after_result", f"{why}; the result of {call.name} ({call.id}) stands")
        return came

    async def compact(self, conversation: Conversation) -> Conversation | Veto | None:
        """A shorter conversation that the run can go on with, or why there must be none; None where no hook made one."""
        shorter = conversation
        for hook in self._compact:
            answer = await self._asked("compact", partial(hook, shorter), Conversation)
            problem = compaction_problem(conversation, answer) if isinstance(answer, Conversation) else ""
            match Broke(problem) if problem else answer:
                case None:
                    continue
                case Conversation() as shorter:
                    await self._changed("compact", None, {"turns": len(shorter.turns)})
                case Veto(why) as veto:
                    await self._vetoed("compact", None, why)
                    return veto
                case Broke(why):
                    await self.broke("compact", why)
                    return Veto(f"the hook compact failed: {why}")
        return shorter if shorter is not conversation else None

    # ---- what hooks give -----------------------------------------------------------------------

    async def _asked(self, point: HookPoint, hook: Callable[[], Any], kind: type[Value]) -> Decided[Value] | None:
        """What the hook answers, as long as it is an answer; a cancellation of the run passes."""
        deadline = asyncio.timeout(self._seconds)
        try:
            async with deadline:
                answer = hook()
                if inspect.isawaitable(answer):
                    answer = await answer
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and self._announcer.being_cancelled():
                raise
            if deadline.expired():
                return Broke(f"it took longer than {self._seconds:g} s")
            warn(f"the hook {point} raised in run {self._announcer.run_id}", error)
            return Broke(explained(error))
        if answer is None or isinstance(answer, kind | Veto):
            return answer
        return Broke(f"it returned {kind_of(answer)}; a hook returns None, {kind.__name__} or Veto(…)")

    def _checked_call(self, call: ToolUseBlock, answer: ToolUseBlock) -> ToolUseBlock | Broke | None:
        """The call with the arguments of `answer`, if they fit the schema of its tool; None where they are the same."""
        if (answer.id, answer.name) != (call.id, call.name):
            return Broke(f"it made {answer.name} ({answer.id}) of {call.name} ({call.id}); it may change the arguments alone")
        try:
            arguments: dict[str, Any] = clean_json(answer.input)
        except ValueError as error:
            return Broke(f"its arguments are not JSON: {error}")
        changed = replace(call, input=arguments, unparsed=None)
        if dump_json(changed.input) == dump_json(call.input):
            return None
        verdict = self._catalog.check(changed)
        return changed if isinstance(verdict, Valid) else Broke(f"its arguments do not fit: {verdict}")

    # ---- telling -------------------------------------------------------------------------------

    async def _changed(self, point: HookPoint, call: ToolUseBlock | None, changes: Mapping[str, Any]) -> None:
        if changes:
            await self._announcer.tell(events.Hooked, point=point, call=call and handed(call), changes=changes, veto=None)

    async def _vetoed(self, point: HookPoint, call: ToolUseBlock | None, why: str) -> None:
        await self._announcer.tell(events.Hooked, point=point, call=call and handed(call), changes={}, veto=why)

    async def broke(self, point: HookPoint, why: str) -> None:
        """Tell the operator that a hook did not do its work."""
        await self._announcer.notice("hook_failed", f"the hook {point} failed: {why}")


def _checked_request(given: AdapterCallRequest, answer: AdapterCallRequest) -> AdapterCallRequest | Broke:
    """The answer, if it differs only where a hook may change a request."""
    fixed = replace(given, **{name: getattr(answer, name) for name in CHANGEABLE})
    if fixed != answer:
        return Broke(f"it may change {', '.join(CHANGEABLE)} of a request, and nothing else")
    kinds = {"system": str, "tools": tuple, "effort": str | None, "temperature": int | float | None}
    wrong = [name for name, kind in kinds.items() if not isinstance(getattr(answer, name), kind)]
    if wrong:
        return Broke("it gave a wrong type of " + ", ".join(f"{name} ({kind_of(getattr(answer, name))})" for name in wrong))
    missing = [tool for tool in answer.tools if tool not in given.tools]
    if missing:
        return Broke(f"it may leave tools out, not add or change {', '.join(tool.name for tool in missing)}")
    return answer


def _is_result_of(call: ToolUseBlock, answer: ToolResult) -> bool:
    content: object = answer.content
    parts = isinstance(content, tuple) and all(isinstance(part, (Text, *MEDIA)) for part in content)
    return parts and answer.call_id == call.id and answer.kind in get_args(ResultKind)


def _differences(before: AdapterCallRequest, after: AdapterCallRequest) -> dict[str, Any]:
    """What differs, by its name, as it is now; tools by their names."""
    changed = {name: getattr(after, name) for name in CHANGEABLE if getattr(after, name) != getattr(before, name)}
    if "tools" in changed:
        changed["tools"] = [tool.name for tool in after.tools]
    return changed
