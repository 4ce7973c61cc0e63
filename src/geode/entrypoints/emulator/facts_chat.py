"""The rules of Chat Completions about the conversation, as data: what is refused, how, and where that is known from."""

from __future__ import annotations

from typing import Final

from geode.entrypoints.emulator.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "chat.openai.assistant.empty_tool_calls",
        "tool_calls: [] is invalid; omit the key.",
        "common API error",
        error_code="empty_array",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.assistant.null_content",
        "content null is legal only together with tool_calls (or refusal).",
        "https://github.com/run-llama/llama_index/issues/17921",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.messages.audio",
        "Models that hear nothing refuse audio.",
        "recorded answer of api.openai.com for gpt-5-mini",
        error_code="invalid_value",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.messages.content_type",
        "Content is a string or a list of parts.",
        "request types of the openai SDK 3.57",
        error_code="invalid_type",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.messages.file",
        "A file comes with its data or its id.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.messages.file_data",
        "The data of a file is a data URL.",
        "request types of the openai SDK 3.57",
        error_code="invalid_value",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.messages.image_url",
        "A picture is an object with a url.",
        "request types of the openai SDK 3.57",
        error_code="invalid_type",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.messages.instructions",
        "o1-mini and o1-preview know neither system nor developer messages.",
        "recorded answer of api.openai.com",
        error_code="unsupported_value",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.messages.null_content",
        "Only an assistant message may be without content.",
        "request types of the openai SDK 3.57",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.messages.part",
        "Parts are text, image_url, input_audio and file for users, text and refusal for the assistant.",
        "request types of the openai SDK 3.57",
        error_code="invalid_value",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.messages.part_type",
        "A part says its type.",
        "recorded answer of api.openai.com",
        error_code="missing_required_parameter",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.messages.required",
        "A request holds at least one message.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=("openai", "openrouter", "generic", "glm"),
    ),
    Rule(
        "chat.openai.messages.role",
        "Roles are system, developer, user, assistant, tool and function.",
        "request types of the openai SDK 3.57",
        error_code="invalid_value",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.messages.shape",
        "Messages are objects.",
        "request types of the openai SDK 3.57",
        error_code="invalid_type",
        dialects=(
            "openai",
            "openrouter",
            "generic",
            "glm",
        ),
    ),
    Rule(
        "chat.openai.tool.content_parts",
        "Tool messages hold text only; an image goes into a user message after them.",
        "https://github.com/All-Hands-AI/OpenHands/issues/7700",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tool.duplicate",
        "A call is answered once.",
        "inferred from the one-to-one rule of tool messages",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tool.id_missing",
        "A tool message names its call.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=("openai", "openrouter", "generic", "glm"),
    ),
    Rule(
        "chat.openai.tool.interleaved_user",
        "A user message between two tool results breaks the run (so a screenshot message goes after the last tool message).",
        "https://github.com/OpenHands/OpenHands/issues/10200",
        dialects=("openai", "openrouter", "generic"),
    ),
    Rule(
        "chat.openai.tool.orphan",
        "role=tool must answer a preceding assistant tool_calls entry.",
        "https://github.com/smarter-sh/smarter/issues/264",
        dialects=("openai", "openrouter", "generic", "glm"),
    ),
    Rule(
        "chat.openai.tool.unanswered",
        (
            "An assistant message with tool_calls must be followed by one role=tool message for each id before "
            "any other message."
        ),
        "https://github.com/agno-agi/agno/issues/3105",
        dialects=("openai", "openrouter", "generic"),
    ),
    Rule(
        "chat.openai.tool.unknown_id",
        "tool_call_id must be one of the ids of the preceding assistant message.",
        "API behaviour",
        dialects=("openai", "openrouter", "generic", "glm"),
    ),
    Rule(
        "chat.openai.tool_calls.arguments_type",
        "function.arguments must be a string.",
        "SDK type chat_completion_message_function_tool_call_param.py",
        error_code="invalid_type",
        dialects=("openai", "openrouter", "generic", "glm"),
    ),
    Rule(
        "chat.openai.tool_calls.count",
        "messages[].tool_calls at most 128 entries.",
        "https://github.com/openai/openai-dotnet/issues/317",
        error_code="array_above_max_length",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tool_calls.duplicate_id",
        "Ids of the calls of one message are unique.",
        "inferred; GLM says so with code 1214",
        error_code="invalid_value",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tool_calls.id_length",
        "tool_calls[].id at most 64 characters (bites when replaying Gemini/Responses composite ids).",
        "https://github.com/jin-bo/agentao/issues/321",
        error_code="string_above_max_length",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tool_calls.id_missing",
        "A call in the history has an id that is not empty.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tool_calls.name_length",
        "Names in the history follow the rule of tool names: at most 64 characters.",
        "request types of the openai SDK 3.57",
        error_code="string_above_max_length",
        dialects=("openai",),
    ),
    Rule(
        "chat.openai.tool_calls.name_missing",
        "A call in the history says which tool it calls.",
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
        "chat.openai.tool_calls.name_pattern",
        "Names in the history follow the rule of tool names.",
        "request types of the openai SDK 3.57",
        error_code="invalid_value",
        dialects=("openai",),
    ),
)
