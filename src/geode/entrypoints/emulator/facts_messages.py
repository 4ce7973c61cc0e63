"""The rules of Anthropic Messages about the conversation, as data: what is refused, how, and where that is known from."""

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
        "messages.anthropic.image.media_type",
        "Base64 images are jpeg, png, gif or webp.",
        "request types of the anthropic SDK 2.14",
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
        "messages.anthropic.server_tool.pairing",
        "A replayed server_tool_use needs its matching *_tool_result block in the same assistant message.",
        "https://github.com/anthropics/claude-code/issues/64383",
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
        "The input of a tool_use or server_tool_use block is an object, never text.",
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
)
