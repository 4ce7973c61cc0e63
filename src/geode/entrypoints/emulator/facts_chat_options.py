"""The rules of Chat Completions about everything around the conversation, as data."""

from __future__ import annotations

from typing import Final

from geode.entrypoints.emulator.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "chat.openai.context",
        "A prompt longer than the window is refused.",
        "https://github.com/archi-physics/archi/issues/497",
        error_code="context_length_exceeded",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.effort.unsupported",
        "Models that do not reason take no effort.",
        "answer of the same kind recorded for a value",
        error_code="unsupported_parameter",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.effort.value",
        "A model takes the efforts that it has.",
        "recorded answer of api.openai.com for o4-mini on Responses",
        error_code="unsupported_value",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.max_tokens",
        "Reasoning models refuse max_tokens; use max_completion_tokens.",
        "https://github.com/langflow-ai/openrag/issues/398",
        error_code="unsupported_parameter",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.metadata_store",
        "metadata only with store=true.",
        "https://github.com/QwenLM/qwen-code/issues/224",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.model.required",
        "model is mandatory.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.model.unknown",
        "A model that is not served is not found.",
        "recorded answer of api.openai.com",
        status=404,
        error_code="model_not_found",
        dialects=(
            "openai",
            "generic",
        ),
    ),
    Rule(
        "chat.openai.parallel_without_tools",
        "parallel_tool_calls is allowed only together with tools.",
        "https://github.com/openai/swarm/issues/30",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.response_format.additional",
        "json_schema strict: additionalProperties:false needed.",
        "https://github.com/simonw/llm-openai-plugin/issues/3",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.response_format.name",
        "A schema for the answer has a name.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.sampling.above",
        "Sampling is not above its bounds.",
        "recorded answer of api.openai.com",
        error_code="decimal_above_max_value",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.sampling.below",
        "Sampling is not below its bounds.",
        "recorded answer of api.openai.com on Responses",
        error_code="decimal_below_min_value",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.sampling.type",
        "Sampling is told in numbers.",
        "recorded answer of a compatible server: type must be number",
        error_code="invalid_type",
        dialects=(
            "openai",
            "openrouter",
            "generic",
            "glm",
        ),
    ),
    Rule(
        "chat.openai.schema.array_items",
        "Array without items is refused.",
        "https://github.com/gumloop/guMCP/issues/136",
        error_code="invalid_function_parameters",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.schema.missing_properties",
        "A root of type object says its properties, also when not strict.",
        "https://github.com/github/github-mcp-server/issues/1548; https://github.com/tailcallhq/forgecode/issues/1359",
        error_code="invalid_function_parameters",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.schema.root_combinator",
        "Root may not carry oneOf/anyOf/allOf/enum/not.",
        "https://github.com/langchain-ai/langchainjs/issues/9804",
        error_code="invalid_function_parameters",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.schema.root_not_object",
        "parameters are of type object at their root.",
        "https://github.com/langchain-ai/langchainjs/issues/9804",
        error_code="invalid_function_parameters",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.stop",
        "Some reasoning models take no stop sequences.",
        "recorded answers of api.openai.com for gpt-5-mini and o1-mini",
        error_code="unsupported_parameter",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.stop_count",
        "stop holds at most four sequences.",
        "openai 3.57 SDK: types/chat/completion_create_params.py",
        error_code="array_above_max_length",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.stream_options",
        "stream_options only with stream=true.",
        "openai 3.57 SDK: types/chat/completion_create_params.py",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.strict.additional_properties",
        "strict: each object says additionalProperties: false.",
        "https://github.com/bytedance/trae-agent/issues/173",
        error_code="invalid_function_parameters",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.strict.nesting",
        "strict: at most 10 levels of objects.",
        (
            "https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas ; "
            "https://github.com/tidyverse/ellmer/issues/671"
        ),
        error_code="invalid_function_parameters",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.strict.oneof",
        "strict: oneOf, allOf, not and if are not permitted.",
        "https://github.com/langchain-ai/langchainjs/issues/9804",
        error_code="invalid_function_parameters",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.strict.required_all",
        "strict: each object requires all its properties.",
        "https://github.com/kevinwatt/mysql-mcp/issues/5",
        error_code="invalid_function_parameters",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.temperature",
        "Reasoning models take only the default temperature.",
        "https://github.com/johny-b/llmcomp/issues/69; https://github.com/decolua/9router/issues/560",
        error_code="unsupported_value",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tool_choice.responses_shape",
        "The flat choice of Responses is refused; Chat is nested.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tool_choice.shape",
        "The choice is none, auto, required, or a nested named function.",
        "request types of the openai SDK 3.57",
        error_code="invalid_value",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tool_choice.unknown",
        "A named choice is one of the tools.",
        "the same rule of Responses: https://github.com/vercel/ai/issues/18997",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tool_choice_without_tools",
        "tool_choice is allowed only together with tools.",
        "https://github.com/writer/writer-framework/issues/1013",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tools.count",
        "tools at most 128.",
        "https://github.com/vishalmysore/Tools4AI/issues/16",
        error_code="array_above_max_length",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tools.empty",
        "tools: [] is invalid; omit it.",
        "common API error",
        error_code="empty_array",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tools.name_length",
        "function.name at most 64.",
        "openai 3.57 SDK: types/shared_params/function_definition.py",
        error_code="string_above_max_length",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tools.name_missing",
        "A tool has a name.",
        "request types of the openai SDK 3.57",
        error_code="empty_string",
        dialects=(
            "openai",
            "openrouter",
            "generic",
            "glm",
        ),
    ),
    Rule(
        "chat.openai.tools.name_pattern",
        "function.name pattern ^[a-zA-Z0-9_-]+$.",
        "https://github.com/brekkylab/ailoy/issues/109",
        error_code="invalid_value",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tools.responses_shape",
        "Flat Responses-style tools are refused.",
        "https://github.com/bolna-ai/bolna/issues/144",
        error_code="missing_required_parameter",
        dialects=("openai", "openrouter", "generic", "glm"),
    ),
    Rule(
        "chat.openai.tools.type",
        "tools is an array.",
        "request types of the openai SDK 3.57",
        error_code="invalid_type",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tools_with_reasoning",
        (
            "gpt-5.4 and later: function tools plus reasoning_effort are refused on Chat Completions; on "
            "gpt-5.5/5.6 even an unset effort counts, only an explicit none works."
        ),
        "https://github.com/BerriAI/litellm/issues/34569; https://github.com/pipecat-ai/pipecat/issues/4043",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.web_search_options",
        "Only search models take web_search_options.",
        "recorded answer of api.openai.com for gpt-4o",
        dialects=("openai",),
    ),
)
