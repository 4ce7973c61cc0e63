"""The program `claude` (Claude Code), as a model without tools. Facts: version 2.1.332, asked on loopback.

Its words are read in the one `result` event alone: what the model says may quote any error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from returns.result import Failure, Success

from geode.adapters.http_json.reading import amount, mapping, number, objects, string
from geode.adapters.text_cli.process import Event, Folder, Invocation, Ran
from geode.adapters.text_cli.programs import Answer, Asked, TextProgram, common_problem, not_asked
from geode.domain.content import Text
from geode.domain.failures import CallFailure
from geode.domain.json_value import dump_json
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.request import Capabilities
from geode.domain.schema_profile import CLAUDE_CLI
from geode.domain.usage import Usage

CAPABILITIES: Final = Capabilities(
    supports_tools=False,
    images="none",
    media=frozenset(),
    temperature=False,
    output_limit=False,
    response_schema=True,
    schemas=CLAUDE_CLI,
)
# Of standard input, and of one argument on Linux (128 KiB with its end).
_MOST_PROMPT: Final = 10_000_000
_MOST_SCHEMA: Final = 131_071 - len("--json-schema=")
_SYSTEM: Final = "system.txt"
# Nothing but the one request of the model, and that once. Without the last two a prompt with `@FILE` in it is sent
# with the file, although the program has no tools.
_QUIET: Final = {
    **dict.fromkeys(
        (
            *(
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                "DISABLE_AUTOUPDATER",
                "DISABLE_TELEMETRY",
                "DISABLE_ERROR_REPORTING",
            ),
            *("CLAUDE_CODE_DISABLE_REFUSAL_RETRY", "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK"),
            *("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "CLAUDE_CODE_DISABLE_CLAUDE_MDS", "CLAUDE_CODE_DISABLE_AUTO_MEMORY"),
            *("CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS", "CLAUDE_CODE_DISABLE_ATTACHMENTS", "CLAUDE_CODE_DISABLE_FILE_MENTIONS"),
        ),
        "1",
    ),
    "CLAUDE_CODE_MAX_RETRIES": "0",
}
_ARGUMENTS: Final = (
    *("--print", "--output-format", "stream-json", "--verbose"),
    *("--tools", "", "--max-turns", "1", "--no-session-persistence"),
    *("--strict-mcp-config", "--disable-slash-commands", "--setting-sources", ""),
)
_STRUCTURED: Final = "StructuredOutput"
_SYNTHETIC: Final = "<synthetic>"
_STOPS: Final = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "tool_use": Stop.END,
    "max_tokens": Stop.MAX_TOKENS,
    "model_context_window_exceeded": Stop.CONTEXT_EXCEEDED,
}
_TOO_LONG: Final = "Prompt is too long"
_USED_UP: Final = re.compile(r"You.ve hit your .{0,60}\blimit\b|Claude AI usage limit reached")
_LATE: Final = re.compile(r"(API Error: )?Request timed out")


def problem(asked: Asked) -> CallFailure | None:
    size = len(asked.schema.encode())
    if size > _MOST_SCHEMA:
        return not_asked(f"claude takes a response_schema of at most {_MOST_SCHEMA} bytes as JSON, this one has {size}")
    return common_problem(asked, "claude", _MOST_PROMPT, len(asked.prompt.encode("utf-8", "replace")), "bytes")


def invocation(asked: Asked, folder: Folder) -> Invocation:
    """`--bare` keeps the prompt as it is, and reads no login: a subscription goes without."""
    arguments = [*_ARGUMENTS, f"--model={asked.model}", f"--system-prompt-file={folder.file(_SYSTEM)}"]
    environment = {
        **_QUIET,
        "API_TIMEOUT_MS": str(max(1, int(asked.seconds * 1000))),
        "CLAUDE_CONFIG_DIR": asked.login or str(folder.home / ".claude"),
    }
    if asked.mode == "api_key":
        arguments.append("--bare")
        environment["ANTHROPIC_API_KEY"] = asked.key
    if asked.base_url:
        environment["ANTHROPIC_BASE_URL"] = asked.base_url
    arguments += [f"--effort={asked.effort}"] if asked.effort else []
    arguments += [f"--json-schema={asked.schema}"] if asked.schema else []
    return Invocation(tuple(arguments), asked.prompt, environment, {_SYSTEM: asked.system})


# ---- reading -----------------------------------------------------------------------------------


def answer(asked: Asked, ran: Ran) -> Answer | None:
    """Read from the result, never from the exit code: a run that was interrupted ends with 0."""
    result = next((event for event in reversed(ran.events) if event.get("type") == "result"), None)
    if result is None:
        return None
    said = [event for event in ran.events if _is_the_models(event)]
    stop = _stop(result, asked)
    if stop is None:
        return Failure(_failure(result))
    text = _structured(result, said) if asked.schema and stop is Stop.END else None
    if text is None:
        text = "".join(_texts(said)) if said or stop is not Stop.END else string(result.get("result"))
    return Success(
        AdapterCallResult(
            (Text(text),),
            stop,
            _usage(result, asked),
            string(result.get("stop_reason")),
            _refusal(ran.events) if stop is Stop.REFUSAL else None,
            route=asked.mode,
            request_id=next((string(event.get("request_id")) for event in reversed(said)), ""),
        )
    )


def _is_the_models(event: Event) -> bool:
    """Whether the model said it, and not the program in its place."""
    return (
        event.get("type") == "assistant"
        and event.get("parent_tool_use_id") is None
        and mapping(event.get("message")).get("model") != _SYNTHETIC
    )


def _stop(result: Event, asked: Asked) -> Stop | None:
    """Why the model stopped; None where the call failed."""
    word = string(result.get("stop_reason"))
    if word == "refusal":
        return Stop.REFUSAL
    if result.get("api_error") == "max_output_tokens":
        return Stop.MAX_TOKENS
    # With a schema a text in its place, or one that does not fit, is answered by a further turn, which is not taken.
    if asked.schema and result.get("subtype") == "error_max_turns":
        return Stop.END
    asked_nobody = result.get("num_turns") == 0
    if result.get("is_error") is not False or result.get("subtype") != "success" or asked_nobody:
        return None
    return _STOPS.get(word, Stop.UNKNOWN if word else Stop.END)


def _texts(said: list[Event]) -> Iterator[str]:
    """All of it: where the output limit cut a reply, the program has the model go on in a further message."""
    for event in said:
        for block in objects(mapping(event.get("message")).get("content")):
            if block.get("type") == "text":
                yield string(block.get("text"))


def _structured(result: Event, said: list[Event]) -> str | None:
    """The answer as JSON, as the model gave it; None where it gave none."""
    value = result.get("structured_output")
    if value is None:
        blocks = (block for event in said for block in objects(mapping(event.get("message")).get("content")))
        given = [block.get("input") for block in blocks if block.get("name") == _STRUCTURED]
        value = given[-1] if given else None
    try:
        return None if value is None else dump_json(value)
    except (ValueError, RecursionError):
        return None


def _refusal(events: tuple[Event, ...]) -> Mapping[str, Any]:
    details = (mapping(mapping(event.get("message")).get("stop_details")) for event in reversed(events))
    return next((one for one in details if one), {})


def _usage(result: Event, asked: Asked) -> Usage:
    """`input_tokens` of the program leaves out what was cached. Its cost is that of its list prices: a plan has none."""
    of = mapping(result.get("usage"))
    cached, written = number(of.get("cache_read_input_tokens")), number(of.get("cache_creation_input_tokens"))
    return Usage(
        number(of.get("input_tokens")) + written + cached,
        number(of.get("output_tokens")),
        amount(result.get("total_cost_usd")) if asked.mode == "api_key" else None,
        cached_input_tokens=cached,
        reasoning_tokens=number(mapping(of.get("output_tokens_details")).get("thinking_tokens")),
        cache_write_input_tokens=written,
        cache_write_1h_input_tokens=number(mapping(of.get("cache_creation")).get("ephemeral_1h_input_tokens")),
    )


def _failure(result: Event) -> CallFailure:
    text = string(result.get("result")) or "; ".join(string(one) for one in _listed(result.get("errors")))
    status = number(result.get("api_error_status")) or None
    kind = string(result.get("api_error_type"))
    message = text or f"claude ended with {string(result.get('subtype')) or 'an error that it does not name'}"
    if result.get("terminal_reason") == "prompt_too_long" or text.startswith(_TOO_LONG):
        return CallFailure(status or 400, "response", message, kind, "prompt_too_long")
    if status is not None:
        return CallFailure(status, "response", message, kind)
    if text.startswith("Not logged in"):
        way_out = "Sign in with the program itself, or have it paid by a key: docs/text-only-programs.md"
        return CallFailure(401, "response", message, way_out=way_out)
    if _USED_UP.match(text):
        return CallFailure(429, "response", message, subscription=True)
    if result.get("num_turns") == 0 and result.get("is_error") is False:
        return CallFailure(None, "response", f"claude answered by itself, and asked no model: {message}")
    lost = result.get("api_error") == "connection_failed" or string(result.get("terminal_reason")).startswith("aborted")
    return CallFailure(None, "stream" if lost else "response", message, kind, timed_out=_LATE.match(text) is not None)


def _listed(value: object) -> list[object]:
    return [*value] if isinstance(value, list) else []


CLAUDE: Final = TextProgram("claude", CAPABILITIES, "/", problem, invocation, answer)
