"""What `session`, `run` and `Runtime` take: one declaration for all three."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, cast

from geode.domain.approval import Decision
from geode.domain.content import ToolUseBlock
from geode.domain.errors import Misuse
from geode.domain.json_value import clean_text
from geode.domain.naming import refuse_unknown
from geode.domain.policy import Policy
from geode.domain.provider import Provider
from geode.domain.relay import relay_options
from geode.domain.targets import Target
from geode.domain.thinking import Thinking, parse_thinking
from geode.domain.tokens import CountTokens
from geode.domain.toolkits import ChooseToolkits, Toolkits
from geode.ports.approval import Approver
from geode.ports.clock import Clock
from geode.ports.events import Observer
from geode.ports.hooks import Hooks
from geode.ports.images import ImageResizer
from geode.ports.journal import Journal
from geode.ports.model import ModelAdapter
from geode.ports.results import ResultStore
from geode.ports.schema import SchemaValidator

if TYPE_CHECKING:
    import httpx2

_RENDERERS: Final = "renderers={Money: lambda money: str(money)}"
Answer: TypeAlias = Callable[[ToolUseBlock], Decision | Awaitable[Decision]]


class SettingsButAnswer(TypedDict, total=False):
    """All but the answer, which has a type of its own where that is known: see `Settings`."""

    model: str | ModelAdapter
    fallbacks: Sequence[str | ModelAdapter]
    tools: Sequence[Any]
    toolkit: Toolkits | ChooseToolkits
    providers: Sequence[Provider | Target]
    provider_options: Mapping[str, Mapping[str, Any]]
    approve: Approver | Answer
    observe: Observer | Sequence[Observer]
    hooks: Hooks | Sequence[Hooks]
    policy: Policy
    system: str
    deps: Any
    effort: str
    temperature: float
    thinking: Literal["adaptive"] | int | Thinking
    cache: Literal["auto", "off"]
    http: httpx2.AsyncClient
    journal: Journal | str | Path
    results: ResultStore | str | Path
    count_tokens: CountTokens
    renderers: Mapping[type[Any], Callable[[Any], object]]
    resizer: ImageResizer
    clock: Clock
    validator: SchemaValidator


class Settings(SettingsButAnswer, total=False):
    """All by keyword; every one may be left out.

    `model`: a model id or an adapter (a ScriptedModel in tests); else what is configured (docs/configuration.md).
    `fallbacks`: models that a run may switch to, in this order, when all attempts on the one before failed for
    reasons that pass by themselves; none by default. Each run begins with `model`.
    `tools`: functions, methods or Tool values, and sources of tools such as McpServer. `toolkit`: which of them may be
    used: a Toolkit, several, or a function of a ToolkitContext, which is asked before every round and every call.
    `providers`: servers of your own, for ids `NAME/MODEL`. `provider_options`: by provider, what it alone has:
    {"openrouter": {"order": ["anthropic"], "allow_fallbacks": False}} (docs/openrouter.md).
    `approve`: a function of one call, or an Approver; without it everything above MCP_TRUSTED is denied.
    `hooks`: a Hooks or several, which may change or veto what leaves, what runs and what comes of it.
    `observe`: one observer of events or several. `policy`: every limit. `system`: the system text.
    `answer`: what the answer has to be, as a pydantic model, a dataclass, a TypedDict or a JSON Schema: `outcome.value`.
    `deps`: what `ToolContext.deps` is. `effort` and `temperature`: sent as given, or refused; an
    effort that is configured goes only to models that have one.
    `thinking`: "adaptive", or a budget in tokens, for models whose wire has that setting; not in the wrap-up.
    `results`: a folder for results that are too long to show, or an adapter of that port; by default `results` in
    the journal's folder, and memory where that is no folder either.
    `count_tokens`: a function that counts the tokens of a text; else 4 ASCII characters are one.
    `cache`: "auto" asks providers that want to be asked to keep the beginning of each request for the next one, "off"
    does not (docs/compaction.md).
    `http`: a client of yours, used and never closed. `journal`: a folder that keeps each run as it
    happens, for `resume_run`, or an adapter of that port. `renderers`: by class, functions that say what of
    a value of your own goes into a result. `resizer`: makes pictures fit that are over the provider's limits;
    without one, Pillow does, if the extra `images` is installed. `clock`, `validator`: other adapters of
    these ports.
    """

    answer: Any


# Names that other libraries have, and what they are called here. The limits, by their names in `Policy`, too.
_ELSEWHERE: Final[Mapping[str, str]] = {
    **{field.name: f"policy=Policy({field.name}=…)" for field in fields(Policy)},
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), "policy=Policy(max_output_tokens=…)"),
    **dict.fromkeys(("max_turns", "max_iterations", "max_steps"), "policy=Policy(max_rounds=…)"),
    **dict.fromkeys(
        ("response_schema", "response_format", "response_model", "output_type", "result_type", "output_schema"), "answer="
    ),
    "timeout": "policy=Policy(call_timeout_seconds=…)",
    "api_key": "providers=[Provider(…, key=…)], or the provider's variable, for example OPENAI_API_KEY",
    "base_url": "providers=[Provider(…, base_url=…)]",
    "provider": "providers=[Provider(…)]",
    **dict.fromkeys(("instructions", "system_prompt", "system_message"), "system="),
    **dict.fromkeys(("fallback", "fallback_models", "models"), "fallbacks=[MODEL, …]"),
    "reasoning_effort": "effort=",
    **dict.fromkeys(("messages", "history"), "run(…, conversation=…)"),
    **dict.fromkeys(("artifact_store", "result_store"), "results="),
    **dict.fromkeys(("tokenizer", "token_counter"), "count_tokens="),
    **dict.fromkeys(("prompt_caching", "cache_control", "prompt_cache_key"), 'cache="auto"'),
    **dict.fromkeys(("serializer", "serializers", "render"), "renderers={TYPE: function}"),
    **dict.fromkeys(("checkpointer", "checkpoints", "durable"), "journal="),
}


def checked(settings: Settings, of: str = "session") -> Settings:
    """`settings`, with every name known and the plain values of the right kind; else Misuse that says what to write.

    `of` is the function that was called, by its name.
    """
    for name in settings:
        if name not in Settings.__annotations__ and name in _ELSEWHERE:
            raise Misuse("unknown-name", f'{of} has no "{name}": that is {_ELSEWHERE[name]}')
    refuse_unknown(of, settings, Settings.__annotations__)
    _check_model(settings.get("model"))
    _check_providers(settings.get("providers", ()))
    _check_provider_options(settings.get("provider_options", {}))
    _check_effort(settings.get("effort"))
    parse_thinking(settings.get("thinking"))
    _check_renderers(settings.get("renderers", {}))
    _check_cache(settings.get("cache", "auto"))
    if "system" not in settings:
        return settings
    return {**settings, "system": _system(settings["system"])}


def _check_model(model: object) -> None:
    if isinstance(model, type) and hasattr(model, "acomplete"):
        raise Misuse("model-type", f"model is the class {model.__name__}; give an object: {model.__name__}(…)")
    if model is not None and not isinstance(model, str) and not hasattr(model, "acomplete"):
        raise Misuse("model-type", f"model must be a model id or an adapter, got {type(model).__name__}")


def _check_providers(providers: object) -> None:
    if not isinstance(providers, list | tuple):
        raise Misuse(
            "providers-type", f"providers must be a list, got {type(providers).__name__}. Write providers=[Provider(…)]"
        )
    for one in providers:
        if not isinstance(one, Provider | Target):
            raise Misuse(
                "providers-type", f"providers must hold Provider values, got {type(one).__name__}: Provider(name, wire=…)"
            )


def _check_provider_options(options: object) -> None:
    if not isinstance(options, Mapping):
        shown = '{"openrouter": {"order": ["anthropic"]}}'
        raise Misuse("provider-options", f"provider_options must be a mapping, got {type(options).__name__}. Write {shown}")
    given = cast("Mapping[object, object]", options)
    for name in given:
        if name != "openrouter":
            raise Misuse("provider-options", f'provider_options has {name!r:.80}; only "openrouter" has options of its own')
    if problem := relay_options(given.get("openrouter")).swap().value_or(""):
        raise Misuse("provider-options", f"provider_options: {problem}")


def _check_effort(effort: object) -> None:
    if effort is not None and (not isinstance(effort, str) or not effort.strip()):
        raise Misuse("effort", f'effort must be a word that the model takes, for example "low", got {effort!r:.80}')


def _check_cache(cache: object) -> None:
    if cache not in ("auto", "off"):
        raise Misuse("cache", f'cache is "auto" or "off", got {cache!r:.80}')


def _check_renderers(renderers: object) -> None:
    """By class, functions of one value."""
    if not isinstance(renderers, Mapping):
        raise Misuse("renderers-type", f"renderers must be a mapping, got {type(renderers).__name__}. Write {_RENDERERS}")
    for kind, render in cast("Mapping[object, object]", renderers).items():
        if not isinstance(kind, type):
            raise Misuse("renderers-type", f"renderers has the key {kind!r:.80}, which is no class. Write {_RENDERERS}")
        if not callable(render) or inspect.iscoroutinefunction(render):
            shown = "a coroutine function" if callable(render) else type(render).__name__
            raise Misuse("renderers-type", f"renderers[{kind.__name__}] must be a function, got {shown}. Write {_RENDERERS}")


def _system(system: object) -> str:
    if not isinstance(system, str):
        raise Misuse("system-type", f"system must be text, got {type(system).__name__}")
    return clean_text(system)
