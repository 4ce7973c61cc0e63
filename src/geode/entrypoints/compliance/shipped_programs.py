"""The harnesses of the adapters over command line programs, with what the programs were seen to print."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from geode.adapters.text_cli.claude import CLAUDE
from geode.adapters.text_cli.codex import CODEX
from geode.domain.json_value import dump_json
from geode.domain.models import rows_for
from geode.domain.request import Capabilities
from geode.domain.schema_profile import CLAUDE_CLI, CODEX_CLI
from geode.domain.targets import BUILT_IN
from geode.entrypoints.compliance.harness import Withheld
from geode.entrypoints.compliance.program_harness import Printed, ProgramHarness
from geode.entrypoints.emulator.rules_openai import parameters
from geode.entrypoints.routes.capabilities import shipped_table

_TEXT_ALONE: Final = Capabilities(
    supports_tools=False, images="none", media=frozenset(), temperature=False, output_limit=False, response_schema=True
)


class ClaudeCliHarness(ProgramHarness):
    """Claude Code 2.1.332."""

    name, program, model = "claude-cli", CLAUDE, "claude-opus-5"
    rows = rows_for(BUILT_IN["claude-cli"], shipped_table().models)
    capabilities = replace(_TEXT_ALONE, models=rows, schemas=CLAUDE_CLI)
    stops = frozenset({"end", "max_tokens", "refusal"})
    withheld = Withheld(calls=True, words=frozenset({404}), hints=True)

    def says(self, reply: Mapping[str, Any]) -> Printed:
        said = [{"type": "thinking", "thinking": one["text"], "signature": ""} for one in reply["thoughts"]]
        said += [{"type": "text", "text": reply["text"]}] if reply["text"] else []
        spoken = [self._assistant(block) for block in said]
        usage = {"input_tokens": reply["input_tokens"], "output_tokens": reply["output_tokens"]}
        match reply["stop"]:
            case "refusal":
                details = {"type": "refusal", "category": reply["refusal"], "explanation": "This request was declined."}
                text = "API Error: Opus 5 can't help with this. Start a new session to continue."
                excuse = self._assistant({"type": "text", "text": text}, model="<synthetic>", stop_details=details)
                end = {"stop_reason": "refusal", "is_error": True, "result": text, "terminal_reason": "api_error"}
                return Printed((*_BEGUN, *spoken, excuse, _result(end, usage)), 1)
            case "max_tokens":
                text = "API Error: Claude's response exceeded the 32000 output token maximum."
                excuse = self._assistant({"type": "text", "text": text}, model="<synthetic>")
                end = {"stop_reason": "stop_sequence", "is_error": True, "result": text, "api_error": "max_output_tokens"}
                return Printed((*_BEGUN, *spoken, excuse, _result(end, usage)), 1)
            case _:
                end = {"stop_reason": "end_turn", "is_error": False, "result": reply["text"]}
                return Printed((*_BEGUN, *spoken, _result(end, usage)))

    def _assistant(self, block: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        message = {"model": self.model, "role": "assistant", "content": [block], "stop_reason": None, **more}
        return {"type": "assistant", "message": message, "parent_tool_use_id": None, "request_id": "req_1"}

    def fails(self, status: int, message: str) -> Printed:
        later = ". This is a server-side issue, usually temporary — try again in a moment." if status >= 500 else ""
        text = {
            401: f"Failed to authenticate. API Error: 401 {message}",
            403: f"Failed to authenticate. API Error: 403 {message}",
            404: f"There's an issue with the selected model ({self.model}). It may not exist.",
            429: f"API Error: Request rejected (429) · {message}",
        }.get(status, f"API Error: {status} {message}{later}")
        return _broken({"api_error_status": status, "result": text})

    def loses(self) -> Printed:
        text = "API Error: Connection to the API was lost (ECONNRESET). This is usually temporary — try again."
        return _broken({"api_error_status": None, "api_error": "connection_failed", "result": text})

    def settings(self, arguments: Sequence[str], files: Mapping[str, str]) -> dict[str, Any]:
        schema = _option(arguments, "--json-schema")
        return {
            "model": _option(arguments, "--model"),
            "system": files["system.txt"],
            "effort": _option(arguments, "--effort"),
            "schema": schema,
        }

    def objections(self, body: Mapping[str, Any]) -> Sequence[str]:
        return ["a prompt that begins with / is a command of the program"] if body["prompt"].startswith("/") else []


_BEGUN: Final = ({"type": "system", "subtype": "init", "tools": [], "mcp_servers": []},)


def _result(end: Mapping[str, Any], usage: Mapping[str, int]) -> dict[str, Any]:
    """In the order in which it was seen: the type is somewhere in the middle."""
    return {
        "duration_api_ms": 39,
        "total_cost_usd": 0.000105,
        "usage": {**usage, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
        "num_turns": 1,
        "subtype": "success",
        "api_error_status": None,
        **end,
        "type": "result",
    }


def _broken(end: Mapping[str, Any]) -> Printed:
    whole = {"stop_reason": "stop_sequence", "is_error": True, "terminal_reason": "api_error", **end}
    return Printed((*_BEGUN, _result(whole, {"input_tokens": 0, "output_tokens": 0})), 1)


class CodexCliHarness(ProgramHarness):
    """codex 0.171.0: it shows no refusals, and what an answer took only where one came."""

    name, program, model = "codex-cli", CODEX, "gpt-5.2"
    rows = rows_for(BUILT_IN["codex-cli"], shipped_table().models)
    capabilities = replace(_TEXT_ALONE, models=rows, schemas=CODEX_CLI)
    stops = frozenset({"end", "max_tokens"})
    withheld = Withheld(
        calls=True,
        statuses=frozenset({404}),
        words=frozenset({429, 500}),
        hints=True,
        usage=frozenset({"max_tokens"}),
    )

    def says(self, reply: Mapping[str, Any]) -> Printed:
        spoken = _item({"id": "item_1", "type": "agent_message", "text": reply["text"]})
        if reply["stop"] == "max_tokens":
            return _turn_failed("Incomplete response returned, reason: max_output_tokens", spoken)
        usage = {"input_tokens": reply["input_tokens"], "output_tokens": reply["output_tokens"], "cached_input_tokens": 0}
        return Printed((*_TURN, spoken, {"type": "turn.completed", "usage": usage}))

    def fails(self, status: int, message: str) -> Printed:
        body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
        end = f"{message}, url: http://lab.test/responses, request id: req_1"
        return _turn_failed(
            {
                400: dump_json(body),
                404: message,
                429: "exceeded retry limit, last status: 429 Too Many Requests, request id: req_1",
                500: "We\u2019re currently experiencing high demand, which may cause temporary errors.",
            }.get(status, f"unexpected status {status} Some Reason: {end}")
        )

    def loses(self) -> Printed:
        return _turn_failed("stream disconnected before completion: Transport error: network error")

    def settings(self, arguments: Sequence[str], files: Mapping[str, str]) -> dict[str, Any]:
        configured = dict(one.split("=", 2)[1:] for one in arguments if one.startswith("--config="))
        return {
            "model": _option(arguments, "--model"),
            "system": files["instructions.md"],
            "effort": configured.get("model_reasoning_effort", "").strip('"') or None,
            "schema": files.get("schema.json"),
        }

    def objections(self, body: Mapping[str, Any]) -> Sequence[str]:
        """The program says of every schema that it is strict."""
        schema = body.get("schema")
        found = () if schema is None else parameters("responses.openai", (), "codex_output_schema", json.loads(schema), True)
        return [f"{rule}: {text}" for rule, _, text in found]


def _option(arguments: Sequence[str], name: str) -> str | None:
    return next((one.partition("=")[2] for one in arguments if one.startswith(f"{name}=")), None)


def _item(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "item.completed", "item": item}


_WARNING: Final = "Model metadata for `gpt-5.2` not found. Defaulting to fallback metadata."
_TURN: Final = (
    {"type": "thread.started", "thread_id": "01a22eb9-0f4d-7591-b661-d186165ce4d3"},
    _item({"id": "item_0", "type": "error", "message": _WARNING}),
    {"type": "turn.started"},
)


def _turn_failed(message: str, *before: Mapping[str, Any]) -> Printed:
    return Printed(
        (*_TURN, *before, {"type": "error", "message": message}, {"type": "turn.failed", "error": {"message": message}}), 1
    )
