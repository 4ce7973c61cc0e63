"""What OpenRouter refuses of its own fields, and GLM of its: judged by their documentation, not by what geode writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.entrypoints.emulator.rule import Facts, Finding, Path, Request, ident, listed, mapped, objects, shown

_LISTS: Final = ("order", "only", "ignore", "quantizations")
_SWITCHES: Final = ("allow_fallbacks", "require_parameters", "zdr", "enforce_distillable_text")
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "data_collection": ("allow", "deny"),
    "sort": ("price", "throughput", "latency"),
}
# Taken and not judged: a price, and floors of speed.
_OTHERS: Final = ("max_price", "preferred_min_throughput", "preferred_max_latency")
_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_MOST_MARKS: Final = 4
_LONGEST_SESSION: Final = 256
# Efforts of GLM by the beginning of a model's name, the longest first; a model that is not here is not judged.
_GLM_EFFORTS: Final[Mapping[str, tuple[str, ...]]] = {
    "glm-5.3": ("low", "high", "max"),
    "glm-5.2": _EFFORTS,
    "glm-5.1": (),
    "glm-4.7": (),
}


def provider(request: Request, facts: Facts) -> Iterator[Finding]:
    """The options of the route."""
    found = request.get("provider")
    if facts.dialect != "openrouter" or found is None:
        return
    if not isinstance(found, dict):
        yield "chat.openrouter.provider.type", ("provider",), "provider: expected object"
    for name, value in mapped(found).items():
        path = ("provider", name)
        if name in _LISTS:
            if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
                yield "chat.openrouter.provider.names", path, f"provider.{name}: expected an array of strings"
        elif name in _SWITCHES:
            if not isinstance(value, bool):
                yield "chat.openrouter.provider.switch", path, f"provider.{name}: expected boolean"
        elif name in _WORDS:
            if value not in _WORDS[name] and not (name == "sort" and isinstance(value, dict)):
                yield "chat.openrouter.provider.word", path, f"provider.{name}: expected one of {', '.join(_WORDS[name])}"
        elif name not in _OTHERS:
            yield "chat.openrouter.provider.unknown", path, f"provider: unrecognized key {shown(name)}"


def openrouter(request: Request, facts: Facts) -> Iterator[Finding]:
    """Effort, session, marks, and reasoning that comes back."""
    if facts.dialect != "openrouter":
        return
    effort = mapped(request.get("reasoning")).get("effort")
    if effort is not None and effort not in _EFFORTS:
        yield "chat.openrouter.effort", ("reasoning", "effort"), f"reasoning.effort: invalid value {shown(effort)}"
    session = request.get("session_id")
    if session is not None and not (isinstance(session, str) and 0 < len(session) <= _LONGEST_SESSION):
        yield "chat.openrouter.session_id", ("session_id",), f"session_id: at most {_LONGEST_SESSION} characters"
    if ident(request.get("model")).startswith("anthropic/"):
        yield from _marks(request)
    if facts.signatures is not None:
        yield from _signatures(request, facts.signatures)


def _marks(request: Request) -> Iterator[Finding]:
    marked = 0
    for place, message in objects(request.get("messages")):
        for number, part in objects(message.get("content")):
            if not part.get("cache_control"):
                continue
            marked += 1
            if part.get("type") == "text" and not part.get("text"):
                path: Path = ("messages", place, "content", number)
                yield "chat.openrouter.cache_control.max4", path, "cache_control cannot be set for empty text blocks"
    if marked > _MOST_MARKS:
        text = f"a maximum of {_MOST_MARKS} blocks with cache_control may be provided; found {marked}"
        yield "chat.openrouter.cache_control.max4", ("messages",), text


def _signatures(request: Request, known: frozenset[str]) -> Iterator[Finding]:
    for place, message in objects(request.get("messages")):
        for number, detail in objects(message.get("reasoning_details")):
            signature = detail.get("signature")
            if signature is not None and signature not in known:
                path = ("messages", place, "reasoning_details", number, "signature")
                yield "chat.openrouter.reasoning_details", path, "invalid signature in thinking block"


def glm(request: Request, facts: Facts) -> Iterator[Finding]:
    """Thinking, effort, and what its messages do not have."""
    if facts.dialect != "glm":
        return
    thinking = request.get("thinking")
    if thinking is not None:
        yield from _glm_thinking(thinking)
    effort = request.get("reasoning_effort")
    efforts = _glm_efforts(ident(request.get("model")))
    if effort is not None and efforts is not None and effort not in efforts:
        text = f"reasoning_effort {shown(effort)} is not supported; supported: {', '.join(efforts) or 'none at all'}"
        yield "chat.glm.effort", ("reasoning_effort",), text
    if not isinstance(request.get("tool_stream", False), bool):
        yield "chat.glm.tool_stream", ("tool_stream",), "invalid API parameter: tool_stream"
    for place, message in objects(request.get("messages")):
        if message.get("name") is not None:
            yield "chat.glm.message_name", ("messages", place, "name"), "invalid API parameter: messages.name"
        if not isinstance(message.get("reasoning_content", ""), str | None):
            yield "chat.glm.reasoning_content", ("messages", place, "reasoning_content"), "invalid API parameter"


def _glm_thinking(thinking: Any) -> Iterator[Finding]:
    switch = mapped(thinking)
    known = switch.get("type", "enabled") in ("enabled", "disabled") and isinstance(switch.get("clear_thinking", True), bool)
    if not isinstance(thinking, dict) or not known:
        yield "chat.glm.thinking", ("thinking",), "invalid API parameter: thinking"


def _glm_efforts(model: str) -> tuple[str, ...] | None:
    return next((efforts for name, efforts in _GLM_EFFORTS.items() if model == name or model.startswith(f"{name}-")), None)


def is_late(request: Request) -> bool:
    """Whether GLM sends the arguments of calls in one piece: it was not asked for them as they grow."""
    return request.get("tool_stream") is not True or not listed(request.get("tools"))


CHECKS: Final = (provider, openrouter, glm)
