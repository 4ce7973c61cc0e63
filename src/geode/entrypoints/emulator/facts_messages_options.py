"""The rules of Anthropic Messages about everything around the conversation, as data."""

from __future__ import annotations

from typing import Final

from geode.entrypoints.emulator.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "messages.anthropic.auth.version_header",
        "anthropic-version header is mandatory.",
        "https://platform.claude.com/docs/en/api/versioning",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.cache_control.defer_loading",
        "A tool with defer_loading=true may not carry cache_control.",
        "https://github.com/decolua/9router/issues/3567",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.cache_control.max4",
        "At most four cache_control breakpoints over system, tools and messages together.",
        "https://github.com/tghamm/Anthropic.SDK/issues/50; https://github.com/decolua/9router/issues/3795",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.context.input_plus_max",
        "Older models: input and max_tokens together have to fit into the window.",
        "https://github.com/docker/docker-agent/issues/569",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.context.too_long",
        "A prompt longer than the window is refused.",
        "recorded answer of api.anthropic.com: prompt is too long",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.effort.level",
        "A model takes the efforts that it has.",
        "recorded answer of api.anthropic.com for claude-opus-4-6",
    ),
    Rule(
        "messages.anthropic.effort.thinking_disabled",
        "output_config.effort xhigh/max cannot be combined with thinking disabled on Opus 5.",
        "https://github.com/anthropics/claude-code/issues/81084; https://github.com/pydantic/pydantic-ai/issues/7991",
    ),
    Rule(
        "messages.anthropic.extra_inputs",
        "Unknown top-level keys are rejected by the validator.",
        "https://platform.claude.com/docs/en/api/versioning",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.max_tokens.over_model_limit",
        "max_tokens above the model's output ceiling is rejected, not clamped.",
        "common API error",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.max_tokens.required",
        "max_tokens is mandatory (0 is allowed and means cache pre-warm).",
        "anthropic 2.14 SDK: types/message_create_params.py",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.model.required",
        "model is mandatory.",
        "request types of the anthropic SDK 2.14",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.model.unknown",
        "A model that is not served is not found.",
        "recorded answer of api.anthropic.com",
        status=404,
        error_type="not_found_error",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.output_format.additional_properties",
        (
            "output_config.format: additionalProperties:false is needed on every object, always (there is no "
            "non-strict json_schema mode)."
        ),
        "https://github.com/veryfront/veryfront-code/issues/3918; https://github.com/ax-llm/ax/issues/458",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.output_format.extra_name",
        "output_config.format takes type and schema only; the OpenAI name/strict keys are unknown here.",
        "anthropic 2.14 SDK: types/json_output_format_param.py",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.output_format.schema",
        "A format of type json_schema has its schema.",
        "recorded answer of api.anthropic.com",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.sampling.both",
        "Some models take temperature or top_p, not both.",
        "API behaviour, wording approximate",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.sampling.range",
        "temperature and top_p are between 0 and 1.",
        "recorded answer of api.anthropic.com",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.sampling.temperature",
        "Under anthropic-version 2026-10-21 temperature is not a request field, not even with its default value.",
        "the SDK 2.14 has no such field; older versions were recorded to take it",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.sampling.top_k",
        (
            "Under anthropic-version 2026-10-21 (what SDK 2.14 sends) top_k is not a request field for any model,"
            " not even with its default value."
        ),
        "https://platform.claude.com/docs/en/api/migration-2026-10-21; SDK 2.14 removed the keyword (TypeError)",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.sampling.top_p",
        (
            "Under anthropic-version 2026-10-21 (what SDK 2.14 sends) top_p is not a request field for any model,"
            " not even with its default value."
        ),
        "https://platform.claude.com/docs/en/api/migration-2026-10-21; SDK 2.14 removed the keyword (TypeError)",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.size.413",
        "Request body over 32 MB.",
        "https://platform.claude.com/docs/en/api/errors",
        status=413,
        error_type="request_too_large",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.strict.additional_properties",
        "Strict tools: every object (sub)schema needs additionalProperties:false.",
        (
            "https://github.com/mozilla/bugbug/issues/6129; https://github.com/ax-llm/ax/issues/458 ; "
            "https://platform.claude.com/docs/en/build-with-claude/structured-outputs"
        ),
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.strict.boolean_schema",
        "Strict tools: a property is described by an object, not by true or false.",
        "recorded answer of api.anthropic.com",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.strict.grammar_too_large",
        "The grammar of all strict schemas together has a ceiling.",
        "https://github.com/anthropics/anthropic-sdk-typescript/issues/885; https://github.com/TanStack/ai/issues/682",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.strict.numeric_bounds",
        (
            "Strict/structured schemas: numeric and length bounds (minimum, maximum, multipleOf, minLength, "
            "maxLength, minItems>1) are unsupported."
        ),
        "https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.strict.optional_params",
        "At most 24 optional (non-required) parameters summed over all strict schemas, nested ones included.",
        "https://github.com/elie222/inbox-zero/issues/2323; https://github.com/elizaOS/eliza/issues/16516",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.strict.recursive",
        "Strict/structured schemas may not be recursive.",
        "https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.strict.tools_count",
        "At most 20 strict tools.",
        "recorded answer of api.anthropic.com",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.strict.union_params",
        "At most 16 union-typed (anyOf / type list) parameters over all strict schemas.",
        "https://github.com/camel-ai/camel/issues/4171; https://github.com/mozilla/bugbug/issues/6129",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool.name_length",
        "tools[].name at most 128 characters.",
        "https://github.com/anthropics/claude-code/issues/96152",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool.name_missing",
        "A tool has a name.",
        "request types of the anthropic SDK 2.14",
    ),
    Rule(
        "messages.anthropic.tool.name_pattern",
        "tools[].name must match ^[a-zA-Z0-9_-]{1,128}$ (no dots, slashes, spaces).",
        "https://github.com/home-assistant/core/issues/147760",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool.names_unique",
        "Tool names must be unique in the request.",
        "https://github.com/danny-avila/LibreChat/issues/13162; https://github.com/eclipse-theia/theia/issues/16122",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool.root_anyOf",
        "input_schema may not have anyOf at its root.",
        "https://github.com/anthropics/claude-code/issues/5319; https://github.com/anthropics/claude-code/issues/40075",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool.schema_tuple_items",
        "The schema must be valid JSON Schema draft 2020-12: draft-07 tuple form items:[...] is invalid.",
        "https://github.com/kintone/mcp-server/issues/553; https://github.com/anthropics/claude-code/issues/7365",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool.schema_type_required",
        "input_schema.type must be present and equal to object.",
        "anthropic 2.14 SDK: types/tool_param.py (type is Required Literal object)",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool.shape",
        "Tools are flat objects with input_schema; the function shapes of OpenAI are refused.",
        "request types of the anthropic SDK 2.14",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool_choice.forced_unsupported_model",
        "claude-opus-5-5, fable-5-1 and mythos-5-1 reject tool_choice type tool and any altogether.",
        (
            "https://github.com/can1357/oh-my-pi/issues/12939; "
            "https://github.com/UKGovernmentBEIS/inspect_ai/issues/5176; "
            "https://github.com/vercel/ai/issues/21364"
        ),
    ),
    Rule(
        "messages.anthropic.tool_choice.none_parallel",
        "disable_parallel_tool_use is no field of the choice none.",
        "request types of the anthropic SDK 2.14",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool_choice.shape",
        "The choice is an object of type auto, any, tool or none; a word alone is refused.",
        "request types of the anthropic SDK 2.14",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool_choice.unknown_name",
        "tool_choice.name must be one of tools[].name.",
        "API behaviour, wording approximate",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool_choice.without_tools",
        "A choice needs tools beside it.",
        "inferred from the sister wires; marked unsure in the survey",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tools.history_without_tools",
        "History containing tool_use/tool_result needs the tools array in the request.",
        (
            "https://github.com/anthropics/anthropic-sdk-python/issues/494 ; "
            "https://portkey.ai/error-library/tool-definition-error-10488"
        ),
        dialects=("anthropic",),
    ),
)
