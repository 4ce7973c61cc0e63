"""The rules of OpenAI Responses about everything around the conversation, as data."""

from __future__ import annotations

from typing import Final

from geode.entrypoints.emulator.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "responses.codex.instructions",
        "instructions must be present (older models demanded a known prompt).",
        "https://github.com/openai/codex/issues/3376",
        error_type=None,
        dialects=("codex",),
    ),
    Rule(
        "responses.codex.max_output_tokens",
        "max_output_tokens is not a supported parameter.",
        "https://github.com/alibaba/open-code-review/pull/1106; https://github.com/Wei-Shaw/sub2api/issues/3954",
        error_type=None,
        dialects=("codex",),
    ),
    Rule(
        "responses.codex.previous_response_id",
        "previous_response_id cannot work because nothing is stored.",
        "follows from store=false",
        error_type=None,
        dialects=("codex",),
    ),
    Rule(
        "responses.codex.store",
        "store must be sent explicitly as false (omitted counts as true).",
        "https://github.com/alibaba/open-code-review/pull/1106; https://github.com/openai/codex/issues/26173",
        error_type=None,
        dialects=("codex",),
    ),
    Rule(
        "responses.codex.stream",
        "stream must be true.",
        "https://github.com/alibaba/open-code-review/pull/1106",
        error_type=None,
        dialects=("codex",),
    ),
    Rule(
        "responses.codex.temperature",
        "temperature is not a supported parameter.",
        "https://github.com/alibaba/open-code-review/pull/1106",
        error_type=None,
        dialects=("codex",),
    ),
    Rule(
        "responses.openai.context.length",
        "Input above the window is refused, unless it may be cut.",
        "recorded answer of api.openai.com for gpt-5-nano",
        error_code="context_length_exceeded",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.effort.unsupported",
        "Models that do not reason take no effort.",
        "answer of the same kind recorded for a value",
        error_code="unsupported_parameter",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.effort.value",
        "A model takes the efforts that it has.",
        "recorded answer of api.openai.com for o4-mini",
        error_code="unsupported_value",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.max_output_tokens.floor",
        "max_output_tokens is at least 16.",
        "https://github.com/badlogic/pi-mono/issues/9845",
        error_code="integer_below_min_value",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.model.404",
        "A model that is not served is not found.",
        "recorded answer of api.openai.com; status of the survey, recorded as 400 too",
        status=404,
        error_code="model_not_found",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.model.required",
        "model is mandatory, unless a stored prompt stands for it.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=("openai", "codex", "openrouter", "generic"),
    ),
    Rule(
        "responses.openai.previous.not_found",
        "previous_response_id unknown, expired, or of a store=false response.",
        "https://github.com/maximhq/bifrost/issues/2441",
        error_code="previous_response_not_found",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.previous.with_conversation",
        "previous_response_id and conversation exclude each other.",
        "openai 3.57 SDK: types/responses/response_create_params.py",
        error_code="mutually_exclusive_parameters",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.sampling.above",
        "Sampling is not above its bounds.",
        "recorded answer of api.openai.com on Chat",
        error_code="decimal_above_max_value",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.sampling.below",
        "Sampling is not below its bounds.",
        "recorded answer of api.openai.com",
        error_code="decimal_below_min_value",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.sampling.temperature",
        "Reasoning models (gpt-5 and later) refuse temperature/top_p on Responses.",
        "https://github.com/OpenHands/software-agent-sdk/issues/1837; https://github.com/JetBrains/koog/issues/1263",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.sampling.top_p",
        "Reasoning models refuse top_p, as they refuse temperature.",
        "https://github.com/OpenHands/software-agent-sdk/issues/1837",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.sampling.type",
        "Sampling is told in numbers.",
        "request types of the openai SDK 3.57",
        error_code="invalid_type",
        dialects=(
            "openai",
            "codex",
            "openrouter",
            "generic",
        ),
    ),
    Rule(
        "responses.openai.schema.array_missing_items",
        "Array without items is refused, also in non-strict mode (tuple prefixItems does not count).",
        "https://github.com/jlowin/fastmcp/issues/2464",
        error_code="invalid_function_parameters",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.schema.missing_properties",
        "Root type object without properties is refused, also in non-strict mode.",
        "https://github.com/github/github-mcp-server/issues/1548; https://github.com/tailcallhq/forgecode/issues/1359",
        error_code="invalid_function_parameters",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.schema.root_combinator",
        "Root may not carry oneOf/anyOf/allOf/enum/not.",
        "https://github.com/langchain-ai/langchainjs/issues/9804",
        error_code="invalid_function_parameters",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.schema.root_not_object",
        "parameters root type must be object.",
        "https://github.com/langchain-ai/langchainjs/issues/9804",
        error_code="invalid_function_parameters",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.strict.additional_properties",
        "strict=true: additionalProperties must be present and false on each object.",
        "https://github.com/bytedance/trae-agent/issues/173",
        error_code="invalid_function_parameters",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.strict.nesting",
        (
            "strict: nesting limit (10 levels today, 5 in 2024-25), 5000 properties, 1000 enum values, 120000 "
            "characters of names/enums in total."
        ),
        (
            "https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas ; "
            "https://github.com/tidyverse/ellmer/issues/671"
        ),
        error_code="invalid_function_parameters",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.strict.oneof",
        "strict=true: oneOf / allOf / not / if are not permitted at any depth (anyOf is).",
        "https://github.com/langchain-ai/langchainjs/issues/9804",
        error_code="invalid_function_parameters",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.strict.required_all",
        "strict=true: required has to list every property; optional is expressed by a null union.",
        "https://github.com/kevinwatt/mysql-mcp/issues/5",
        error_code="invalid_function_parameters",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.text_format.chat_shape",
        "response_format is the other wire; here it is text.format.",
        "request types of the openai SDK 3.57",
        error_code="unsupported_parameter",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.text_format.json_word",
        "json_object mode needs the word json somewhere in the input.",
        "openai 3.57 SDK: types/shared_params/response_format_json_object.py",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.text_format.name",
        "text.format json_schema needs name (pattern and length as for tools).",
        "openai 3.57 SDK: types/responses/response_format_text_json_schema_config_param.py",
        error_code="missing_required_parameter",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.text_format.name_length",
        "The name of a format follows the rule of tool names: at most 64 characters.",
        "request types of the openai SDK 3.57",
        error_code="string_above_max_length",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.text_format.name_missing",
        "The name of a format is not empty.",
        "request types of the openai SDK 3.57",
        error_code="empty_string",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.text_format.name_pattern",
        "The name of a format follows the rule of tool names.",
        "request types of the openai SDK 3.57",
        error_code="invalid_value",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.tool_choice.chat_shape",
        "The Chat shape {type:function,function:{name}} is refused; Responses is flat.",
        "openai 3.57 SDK: types/responses/tool_choice_function_param.py",
        error_code="missing_required_parameter",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.tool_choice.required_without_tools",
        "required needs tools.",
        "inferred from the same rule on Chat",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.tool_choice.shape",
        "The choice is none, auto, required, or a flat named tool.",
        "request types of the openai SDK 3.57",
        error_code="invalid_value",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.tool_choice.unknown",
        "Named tool_choice or allowed_tools entry that does not match a tool (built-ins are matched by type, not name).",
        "https://github.com/vercel/ai/issues/18997",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.tools.chat_shape",
        "Chat-style nested tools are refused.",
        "https://github.com/microsoft/autogen/issues/6935",
        error_code="missing_required_parameter",
        dialects=("openai", "codex", "openrouter", "generic"),
    ),
    Rule(
        "responses.openai.tools.count",
        "tools array limit 128.",
        "https://github.com/vishalmysore/Tools4AI/issues/16",
        error_code="array_above_max_length",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.tools.name_length",
        "Function name at most 64 characters.",
        "openai 3.57 SDK: types/shared_params/function_definition.py",
        error_code="string_above_max_length",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.tools.name_missing",
        "A tool has a name.",
        "request types of the openai SDK 3.57",
        error_code="empty_string",
        dialects=(
            "openai",
            "codex",
            "openrouter",
            "generic",
        ),
    ),
    Rule(
        "responses.openai.tools.name_pattern",
        "Function names match ^[a-zA-Z0-9_-]+$.",
        "request types of the openai SDK 3.57",
        error_code="invalid_value",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.tools.type",
        "Every tool says its type.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=("openai", "codex"),
    ),
)
