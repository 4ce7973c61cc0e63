"""What Anthropic Messages refuses around the conversation: keys, sampling, length, thinking, formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geode.entrypoints.emulator import schema as js
from geode.entrypoints.emulator.models import Model, model_of
from geode.entrypoints.emulator.rule import (
    WITHOUT_SAMPLING,
    Facts,
    Finding,
    Path,
    Request,
    listed,
    mapped,
    number,
    shown,
)
from geode.entrypoints.emulator.sizes import texts, tokens

OUTPUT_CEILING: Final = 1_000_000
BODY_LIMIT: Final = 32 * 1024 * 1024
EFFORTLESS: Final = "This model does not support the effort parameter."
SAMPLING: Final = {"temperature": (0, 1), "top_p": (0, 1), "top_k": None}
# What the other wires call things; the validator knows none of it. A key that no wire has may be new.
FOREIGN_KEYS: Final = frozenset(
    (
        *("frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs", "seed", "n", "stop", "user"),
        *("max_completion_tokens", "max_output_tokens", "reasoning_effort", "response_format", "stream_options"),
        *("parallel_tool_calls", "functions", "function_call", "input", "instructions", "previous_response_id", "headers"),
    )
)


def keys(request: Request, facts: Facts) -> Iterator[Finding]:
    """Top-level keys: the mandatory ones, and those of other wires."""
    if facts.version == "":
        yield "messages.anthropic.auth.version_header", (), "anthropic-version: header is required"
    if not isinstance(request.get("model"), str):
        yield "messages.anthropic.model.required", ("model",), "model: Field required"
    elif facts.models is not None and request["model"] not in facts.models:
        yield "messages.anthropic.model.unknown", ("model",), f"model: {shown(request['model'])}"
    limit = request.get("max_tokens")
    if limit is None:
        yield "messages.anthropic.max_tokens.required", ("max_tokens",), "max_tokens: Field required"
    elif (number(limit) or 0) > OUTPUT_CEILING:
        text = "max_tokens: value exceeds the maximum number of output tokens for this model"
        yield "messages.anthropic.max_tokens.over_model_limit", ("max_tokens",), text
    for key in sorted(FOREIGN_KEYS & request.keys()):
        yield "messages.anthropic.extra_inputs", (key,), f"{key}: Extra inputs are not permitted"


def sampling(request: Request, facts: Facts) -> Iterator[Finding]:
    """Sampling: gone with a version, unknown to new models, and in bounds elsewhere."""
    model = model_of(request)
    manual = mapped(request.get("thinking")).get("type") == "enabled"
    for key, bounds in SAMPLING.items():
        value, rule = number(request.get(key)), f"messages.anthropic.sampling.{key}"
        if key in request and facts.version is not None and facts.version >= WITHOUT_SAMPLING:
            yield rule, (key,), f"{key}: Extra inputs are not permitted"
        elif value is not None and "sampling" in model.refuses and not (key != "top_k" and value == 1):
            yield rule, (key,), f"`{key}` is deprecated for this model."
        elif value is not None and bounds is not None and not bounds[0] <= value <= bounds[1]:
            yield "messages.anthropic.sampling.range", (key,), f"{key}: range: {bounds[0]}..{bounds[1]}"
        elif value is not None and manual and key != "top_p" and not (key == "temperature" and value == 1):
            text = f"`{key}` may not be set, but for a temperature of 1, when thinking is enabled"
            yield "messages.anthropic.thinking.sampling", (key,), text
    both = all(request.get(key) is not None for key in ("temperature", "top_p"))
    if both and "temperature beside top_p" in model.refuses:
        text = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        yield "messages.anthropic.sampling.both", ("top_p",), text


def length(request: Request, facts: Facts) -> Iterator[Finding]:
    """What is too long to be read at all, and what the model has no room for."""
    size = sum(map(len, texts(request))) if facts.size is None else facts.size
    if size > BODY_LIMIT:
        yield "messages.anthropic.size.413", (), "request exceeds the maximum size"
    model, count, limit = model_of(request), tokens(request), number(request.get("max_tokens")) or 0
    if model.window is None:
        return
    if model.strict_window and count + limit > model.window:
        text = f"input length and max_tokens exceed context limit: {count} + {limit:.0f} > {model.window}"
        yield "messages.anthropic.context.input_plus_max", ("max_tokens",), text
    elif count > model.window:
        text = f"prompt is too long: {count} tokens > {model.window} maximum"
        yield "messages.anthropic.context.too_long", ("messages",), text


def thinking(request: Request, _: Facts) -> Iterator[Finding]:
    """The thinking mode, and the models that take it."""
    model, path = model_of(request), ("thinking", "type")
    match mapped(request.get("thinking")).get("type"):
        case "enabled":
            yield from _manual(request, model)
        case "adaptive" if "adaptive thinking" in model.refuses:
            text = "adaptive thinking is not supported on this model"
            yield "messages.anthropic.thinking.adaptive_old_models", path, text
        case "disabled":
            yield from _disabled(request, model)
        case _:
            pass


def _manual(request: Request, model: Model) -> Iterator[Finding]:
    budget = number(mapped(request.get("thinking")).get("budget_tokens"))
    limit, path = number(request.get("max_tokens")), ("thinking", "budget_tokens")
    if "manual thinking" in model.refuses:
        text = "thinking.type.enabled is not supported for this model; use adaptive and output_config.effort"
        yield "messages.anthropic.thinking.enabled_new_models", ("thinking", "type"), text
    if budget is None or budget < 1024:
        text = "thinking.enabled.budget_tokens: must be greater than or equal to 1024"
        yield "messages.anthropic.thinking.budget_min", path, text
    # Between the calls of tools it may think for longer than an answer is.
    elif limit is not None and limit <= budget and not listed(request.get("tools")):
        text = "max_tokens must be greater than thinking.budget_tokens"
        yield "messages.anthropic.thinking.budget_vs_max", ("max_tokens",), text


def _disabled(request: Request, model: Model) -> Iterator[Finding]:
    effort = mapped(request.get("output_config")).get("effort")
    if "disabled thinking" in model.refuses:
        text = "thinking.type.disabled is not supported for this model"
        yield "messages.anthropic.thinking.disabled_always_on", ("thinking", "type"), text
    if "strong effort without thinking" in model.refuses and effort in ("xhigh", "max"):
        text = f"output_config.effort {effort!r} is not supported when thinking is disabled on this model"
        yield "messages.anthropic.effort.thinking_disabled", ("output_config", "effort"), text


def effort(request: Request, _: Facts) -> Iterator[Finding]:
    """How hard to think: the words that the model knows."""
    found, taken = mapped(request.get("output_config")).get("effort"), model_of(request).efforts
    if found is None or taken is None or found in taken:
        return
    text = f"This model does not support effort level {shown(found)!r}. Supported levels: {', '.join(taken)}."
    yield "messages.anthropic.effort.level", ("output_config", "effort"), text if taken else EFFORTLESS


def output_format(request: Request, _: Facts) -> Iterator[Finding]:
    """A bound answer: the schema alone, closed everywhere. It had a key of its own before."""
    config = mapped(request.get("output_config"))
    for found, path in (
        (config.get("format"), ("output_config", "format")),
        (request.get("output_format"), ("output_format",)),
    ):
        if isinstance(found, dict) and found:
            yield from _bound(found, path, ".".join(path))


def _bound(found: dict[str, Any], path: Path, label: str) -> Iterator[Finding]:
    for key in sorted({"name", "strict", "json_schema"} & found.keys()):
        yield "messages.anthropic.output_format.extra_name", (*path, key), f"{label}.{key}: Extra inputs are not permitted"
    if found.get("type") == "json_schema" and "schema" not in found:
        yield "messages.anthropic.output_format.schema", (*path, "schema"), f"{label}.schema: Field required"
    for place in js.open_objects(found.get("schema")):
        text = f"{label}.schema: for object type, additionalProperties must be explicitly set to false"
        yield "messages.anthropic.output_format.additional_properties", (*path, "schema", *place), text
    for place, word in js.having(found.get("schema"), js.BOUNDS):
        text = f"{label}.schema: property {word} is not supported"
        yield "messages.anthropic.strict.numeric_bounds", (*path, "schema", *place, word), text
    if js.recursive(found.get("schema")):
        text = f"{label}.schema: circular reference in schema definitions is not supported"
        yield "messages.anthropic.strict.recursive", (*path, "schema"), text


def cache_marks(request: Request, _: Facts) -> Iterator[Finding]:
    """At most four cache marks in a request."""
    marked = sum(1 for _ in _marks([request.get("system"), request.get("tools"), request.get("messages")]))
    if marked > 4:
        text = f"a maximum of 4 blocks with cache_control may be provided; found {marked}"
        yield "messages.anthropic.cache_control.max4", (), text


def _marks(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, list):
            waiting.extend(found)
        elif isinstance(found, dict):
            if found.get("cache_control"):
                yield found
            waiting.append(found.get("content"))


CHECKS: Final = (keys, sampling, length, thinking, effort, output_format, cache_marks)
