"""The program `codex exec`, as a model without tools. Facts: version 0.171.0, asked on loopback.

It says in words what became of a request: they are read at the beginning of the message of `turn.failed`, and nowhere
else. Of refusals it says nothing, nor of the words of a server that is overloaded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

from returns.result import Failure, Success

from geode.adapters.http_json.reading import mapping, number, string
from geode.adapters.text_cli.process import Event, Folder, Invocation, Ran
from geode.adapters.text_cli.programs import OURS, Answer, Asked, TextProgram, common_problem
from geode.domain.content import Text
from geode.domain.failures import CallFailure
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.request import Capabilities
from geode.domain.schema_profile import CODEX_CLI
from geode.domain.usage import Usage

CAPABILITIES: Final = Capabilities(
    supports_tools=False,
    images="none",
    media=frozenset(),
    temperature=False,
    output_limit=False,
    response_schema=True,
    schemas=CODEX_CLI,
)
_MOST_PROMPT: Final = 1_048_576
_SYSTEM: Final = "instructions.md"
_SCHEMA: Final = "schema.json"
# A file of instructions that says nothing is refused.
_NO_SYSTEM: Final = "Answer the user."
_KEY: Final = "GEODE_CODEX_KEY"
_ADDRESS: Final = {"api_key": "https://api.openai.com/v1", "subscription": "https://chatgpt.com/backend-api/codex"}
# What it can do beside answering. One tool stays, with which it would ask its user; it answers itself without one.
_DISABLED: Final = (
    *("shell_tool", "unified_exec", "multi_agent", "goals", "plugins", "apps", "view_image"),
    *("skill_search", "image_generation", "tool_suggest"),
)
_SETTINGS: Final = (
    *("include_environment_context=false", "include_permissions_instructions=false", "include_apps_instructions=false"),
    *("skills.include_instructions=false", "project_doc_max_bytes=0", 'web_search="disabled"', 'history.persistence="none"'),
    *("check_for_update_on_startup=false", "analytics.enabled=false", "mcp_servers={}"),
    *("model_providers.geode.request_max_retries=0", "model_providers.geode.stream_max_retries=0"),
    *('model_provider="geode"', 'model_providers.geode.name="geode"', 'model_providers.geode.wire_api="responses"'),
)
_ARGUMENTS: Final = (
    *("exec", "--json", "--skip-git-repo-check", "--sandbox=read-only"),
    *("--ephemeral", "--ignore-user-config", "--ignore-rules"),
)
_WAITING: Final = "Reconnecting... waiting for network"
_INCOMPLETE: Final = re.compile(r"Incomplete response returned, reason: (\w+)")
_STOPS: Final = {"max_output_tokens": Stop.MAX_TOKENS, "content_filter": Stop.CONTENT_FILTER}
_STATUS: Final = re.compile(r"(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b")
_REQUEST: Final = ", request id: "


def problem(asked: Asked) -> CallFailure | None:
    return common_problem(asked, "codex", _MOST_PROMPT, len(asked.prompt), "characters")


def invocation(asked: Asked, folder: Folder) -> Invocation:
    settings = [
        *_SETTINGS,
        f"model_instructions_file={_toml(str(folder.file(_SYSTEM)))}",
        f"model_providers.geode.base_url={_toml(asked.base_url or _ADDRESS[asked.mode])}",
        f"model_providers.geode.stream_idle_timeout_ms={max(1, int(asked.seconds * 1000))}",
    ]
    environment, files = (
        {"CODEX_HOME": asked.login or str(folder.home)},
        {_SYSTEM: asked.system if asked.system.strip() else _NO_SYSTEM},
    )
    if asked.mode == "api_key":
        settings.append(f"model_providers.geode.env_key={_toml(_KEY)}")
        environment[_KEY] = asked.key
    else:
        settings.append("model_providers.geode.requires_openai_auth=true")
    settings += [f"model_reasoning_effort={_toml(asked.effort)}"] if asked.effort else []
    arguments = [*_ARGUMENTS, f"--model={asked.model}", *(f"--config={one}" for one in settings)]
    arguments += [f"--disable={one}" for one in _DISABLED]
    if asked.schema:
        files[_SCHEMA] = asked.schema
        arguments.append(f"--output-schema={folder.file(_SCHEMA)}")
    return Invocation((*arguments, "-"), asked.prompt, environment, files)


def _toml(text: str) -> str:
    """A text as TOML has it, which is as JSON has it, but for one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


# ---- reading -----------------------------------------------------------------------------------


def answer(asked: Asked, ran: Ran) -> Answer | None:
    """By `turn.completed` or `turn.failed`. An `error` before them may be followed by another attempt, an item of that
    type is a warning."""
    for event in reversed(ran.events):
        match event.get("type"):
            case "turn.completed":
                return _completed(asked, event, _messages(ran))
            case "turn.failed":
                return _failed(asked, string(mapping(event.get("error")).get("message")), _messages(ran))
            case "error" if hopeless(event):
                return Failure(CallFailure(None, "connect", string(event.get("message"))))
            case _:
                continue
    return None


def hopeless(event: Event) -> bool:
    """Where nobody answers at the address it waits for a network without end, whatever it is told of retries."""
    return event.get("type") == "error" and string(event.get("message")).startswith(_WAITING)


def _messages(ran: Ran) -> list[str]:
    items = (mapping(event.get("item")) for event in ran.events if event.get("type") == "item.completed")
    return [string(item.get("text")) for item in items if item.get("type") == "agent_message"]


def _completed(asked: Asked, event: Event, messages: list[str]) -> Answer:
    if not messages:
        message = "codex ended its turn without a message; it shows no refusals, and this may have been one"
        return Failure(CallFailure(None, "response", message))
    of = mapping(event.get("usage"))
    usage = Usage(
        number(of.get("input_tokens")),
        number(of.get("output_tokens")),
        cached_input_tokens=number(of.get("cached_input_tokens")),
        reasoning_tokens=number(of.get("reasoning_output_tokens")),
        cache_write_input_tokens=number(of.get("cache_write_input_tokens")),
    )
    # What it says before its last message is about its work.
    return Success(AdapterCallResult((Text(messages[-1]),), Stop.END, usage, "turn.completed", route=asked.mode))


def _failed(asked: Asked, message: str, messages: list[str]) -> Answer:
    found = _INCOMPLETE.match(message)
    if found is not None:
        text, stop = messages[-1] if messages else "", _STOPS.get(found[1], Stop.UNKNOWN)
        return Success(AdapterCallResult((Text(text),), stop, Usage(), found[1], route=asked.mode))
    return Failure(_failure(message or "codex says that its turn failed, and not why"))


def _failure(message: str) -> CallFailure:
    if found := _STATUS.match(message):
        told, _, request = message.partition(_REQUEST)
        return CallFailure(int(found[1]), "response", told, request_id=request)
    for beginning, failure in _BY_WORDS:
        if message.startswith(beginning):
            return failure(message)
    return _refused(message) or CallFailure(None, "response", message)


def _refused(message: str) -> CallFailure | None:
    """A 400: the message is the body as it came."""
    try:
        body: object = json.loads(message)
    except (ValueError, RecursionError):
        return None
    error = mapping(mapping(body).get("error"))
    if not error:
        return None
    words = string(error.get("message")) or message
    return CallFailure(400, "response", f"{words} (400)", string(error.get("type")), string(error.get("code")))


_BY_WORDS: Final[tuple[tuple[str, Callable[[str], CallFailure]], ...]] = (
    ("We\u2019re currently experiencing high demand", lambda text: CallFailure(500, "response", text)),
    ("Selected model is at capacity", lambda text: CallFailure(503, "response", text)),
    ("Quota exceeded", lambda text: CallFailure(429, "response", text, error_code="insufficient_quota")),
    ("You\u2019ve hit your usage limit", lambda text: CallFailure(429, "response", text, subscription=True)),
    (
        "Codex ran out of room in the model's context window",
        lambda text: CallFailure(400, "response", text, error_code="context_length_exceeded"),
    ),
    ("Missing environment variable", lambda text: CallFailure(None, "connect", text, OURS)),
    ("stream disconnected before completion", lambda text: CallFailure(None, "stream", text)),
)

CODEX: Final = TextProgram("codex", CAPABILITIES, "", problem, invocation, answer, hopeless)
