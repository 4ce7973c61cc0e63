"""The rules of Anthropic Messages as data: what is refused, how, and where that is known from."""

from __future__ import annotations

from typing import Final

from geode.entrypoints.emulator.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "messages.anthropic.assistant.prefill_unsupported",
        (
            "Claude 4.6 and later accept no assistant prefill: the conversation has to end with a user message (a"
            " finished tool loop must not be re-sent ending in the assistant turn)."
        ),
        "https://platform.claude.com/docs/en/api/errors",
    ),
    Rule(
        "messages.anthropic.assistant.trailing_whitespace",
        "A final assistant message (prefill) may not end in whitespace.",
        "https://github.com/tailcallhq/forgecode/issues/1872; https://github.com/crewAIInc/crewAI/issues/4430",
        dialects=("anthropic",),
    ),
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
        "messages.anthropic.content.empty",
        "All messages except an optional final assistant one must have non-empty content.",
        "common API error; wording not re-found here",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.content.kind",
        "Kinds of blocks of other wires are refused; unknown ones may be new.",
        "recorded answer: Input tag 'image_url' and the like do not match",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.content.role",
        "Calls stand in assistant messages, results in user messages.",
        "request types of the anthropic SDK 2.14",
    ),
    Rule(
        "messages.anthropic.context.input_plus_max",
        "Older models: input and max_tokens together have to fit into the window.",
        "https://github.com/anthropics/claude-code/issues/24630 ; documented window of 200000 tokens",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.context.too_long",
        "A prompt longer than the window is refused.",
        "recorded answer of api.anthropic.com: prompt is too long",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.document.assistant",
        "Under anthropic-version 2026-10-21 documents do not stand in assistant messages.",
        "https://platform.claude.com/docs/en/api/migration-2026-10-21",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.document.media_type",
        "Base64 documents are PDF, text documents are plain.",
        "request types of the anthropic SDK 2.14",
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
        "messages.anthropic.image.media_type",
        "Base64 images are jpeg, png, gif or webp.",
        "request types of the anthropic SDK 2.14",
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
        "messages.anthropic.messages.required",
        "A request holds at least one message.",
        "request types of the anthropic SDK 2.14",
    ),
    Rule(
        "messages.anthropic.messages.role",
        "Roles are user and assistant; the system text stands apart.",
        "request types of the anthropic SDK 2.14",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.messages.shape",
        "Messages and blocks are objects.",
        "recorded answer of api.anthropic.com: Input does not match the expected shape",
    ),
    Rule(
        "messages.anthropic.messages.system_role_old_model",
        "A role=system entry inside messages is only supported by Opus 4.8 and later.",
        "https://platform.claude.com/docs (mid-conversation system messages); anthropic 2.14 SDK: types/message_param.py",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.messages.system_role_position",
        "A mid-conversation system message has to follow a user turn; it may not split tool_use from its tool_result.",
        "anthropic 2.14 SDK: types/message_param.py docstring",
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
        "https://platform.claude.com/docs/en/about-claude/models/migrating-to-claude-4",
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
        "messages.anthropic.server_tool.pairing",
        "A replayed server_tool_use needs its matching *_tool_result block in the same assistant message.",
        "https://github.com/anthropics/claude-code/issues/64383",
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
        "messages.anthropic.text.empty",
        "Text blocks must be non-empty - even though the API itself can return an empty one.",
        (
            "https://github.com/anthropics/claude-code/issues/59812; "
            "https://github.com/anthropics/anthropic-sdk-python/issues/461"
        ),
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.text.whitespace_only",
        "Text blocks must contain something other than whitespace.",
        "https://github.com/anthropics/claude-code/issues/23440",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.thinking.adaptive_old_models",
        "Adaptive thinking came with 4.6; models before it refuse it.",
        "https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking",
    ),
    Rule(
        "messages.anthropic.thinking.budget_min",
        "budget_tokens must be at least 1024.",
        "anthropic 2.14 SDK: types/thinking_config_enabled_param.py",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.thinking.budget_vs_max",
        "max_tokens must be larger than budget_tokens.",
        "anthropic 2.14 SDK: types/thinking_config_enabled_param.py",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.thinking.disabled_always_on",
        "thinking.type=disabled is rejected by always-thinking models (fable 5 / 5.1 family).",
        "https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking",
    ),
    Rule(
        "messages.anthropic.thinking.enabled_new_models",
        "thinking.type=enabled (budget_tokens) is rejected on Opus 4.7 and later; use adaptive + output_config.effort.",
        "https://github.com/anomalyco/opencode/issues/22863; https://github.com/Kilo-Org/kilocode/issues/12526",
    ),
    Rule(
        "messages.anthropic.thinking.forced_tool_choice",
        "Manual thinking does not go with a choice that forces a tool.",
        "https://github.com/mastra-ai/mastra/issues/7507",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.thinking.missing_in_tool_turn",
        (
            "Manual thinking mode: the assistant message of the running tool loop must begin with its thinking "
            "(or redacted_thinking) block."
        ),
        (
            "https://github.com/deepset-ai/haystack/issues/2146; https://github.com/mastra-ai/mastra/issues/7799;"
            " https://github.com/anthropics/claude-code/issues/12894"
        ),
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.thinking.prefix_changed",
        "Models that bind their thinking refuse it behind other system text, tools or messages than it was made after.",
        "https://github.com/pydantic/pydantic-ai/issues/7984",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.thinking.sampling",
        "Manual thinking takes no temperature but 1 and no top_k.",
        "https://platform.claude.com/docs/en/build-with-claude/extended-thinking",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.thinking.shape",
        "A thinking block carries both its text, which may be empty, and its signature.",
        "https://github.com/danny-avila/agents/issues/279",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.thinking.signature_invalid",
        "A signature that this API did not issue (other provider, edited text, copied) is rejected.",
        (
            "https://github.com/anthropics/claude-code/issues/10627; "
            "https://github.com/anthropics/anthropic-sdk-python/issues/1598"
        ),
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
        "messages.anthropic.tool_result.content_kind",
        "A result holds texts, pictures, documents, search results and references, no calls, results or thinking.",
        "request types of the anthropic SDK 2.14",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool_result.content_type",
        "The content of a result is a string or a list of blocks.",
        "request types of the anthropic SDK 2.14",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool_result.duplicate",
        "Exactly one tool_result per tool_use id.",
        "observed API wording widely quoted, not re-found in this survey",
    ),
    Rule(
        "messages.anthropic.tool_result.is_error_non_text",
        "With is_error=true all tool_result content must be of type text (no screenshots).",
        "https://github.com/vellum-ai/vellum-assistant/issues/18387",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool_result.not_first",
        "tool_result blocks must come before any text/image block in that user message.",
        "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls",
    ),
    Rule(
        "messages.anthropic.tool_result.orphan",
        "A tool_result must refer to a tool_use in the immediately preceding assistant message.",
        "https://github.com/anthropics/claude-code/issues/13460; https://github.com/anthropics/claude-code/issues/18947",
    ),
    Rule(
        "messages.anthropic.tool_result.stale",
        (
            "A tool_result that answers a tool_use from an older (non-adjacent) assistant message is an orphan "
            "too (typical after history truncation or queued user text)."
        ),
        "https://github.com/anthropics/claude-code/issues/13460",
    ),
    Rule(
        "messages.anthropic.tool_use.duplicate_id",
        "Ids of tool_use blocks are unique within a turn; reuse in a later round was recorded as accepted.",
        "https://github.com/anthropics/claude-code/issues/28515; https://github.com/BerriAI/litellm/issues/23510",
    ),
    Rule(
        "messages.anthropic.tool_use.id_pattern",
        "Ids of tool_use blocks match ^[a-zA-Z0-9_-]+$.",
        "https://github.com/anthropics/claude-code/issues/28515",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool_use.input_type",
        "The input of a tool_use block is an object, never text.",
        "request types of the anthropic SDK 2.14",
    ),
    Rule(
        "messages.anthropic.tool_use.name_missing",
        "A call in the history says which tool it calls.",
        "request types of the anthropic SDK 2.14",
    ),
    Rule(
        "messages.anthropic.tool_use.name_pattern",
        "Names of tools in the history follow the rule of tool names.",
        "inferred from the rule of tools[].name",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.tool_use.unanswered",
        "Each tool_use has its tool_result in the very next user message; a partial answer is refused too.",
        "https://github.com/anthropics/claude-code/issues/3512; https://github.com/anthropics/claude-code/issues/8210",
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
