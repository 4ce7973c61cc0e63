"""The rules of OpenAI Responses about the conversation, as data: what is refused, how, and where that is known from."""

from __future__ import annotations

from typing import Final

from geode.entrypoints.emulator.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "responses.generic.deepseek_adjacent",
        "DeepSeek: the outputs come right after their calls.",
        "recorded answer of api.deepseek.com",
        error_code="invalid_request_error",
        dialects=("generic",),
    ),
    Rule(
        "responses.openai.arguments.type",
        "function_call.arguments is a JSON string, an object is rejected.",
        "openai 3.57 SDK: types/responses/response_function_tool_call_param.py",
        error_code="invalid_type",
        dialects=("openai", "codex", "openrouter", "generic"),
    ),
    Rule(
        "responses.openai.call.name_length",
        "Names in the history follow the rule of tool names: at most 64 characters.",
        "request types of the openai SDK 3.57",
        error_code="string_above_max_length",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.call.name_missing",
        "A call in the history says which tool it calls.",
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
        "responses.openai.call.name_pattern",
        "Names in the history follow the rule of tool names.",
        "request types of the openai SDK 3.57",
        error_code="invalid_value",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.call.unanswered",
        "Each function_call has its output in input, unless the conversation lives on the server.",
        "https://github.com/openai/codex/issues/93; recorded answer of api.deepseek.com",
        dialects=("openai", "codex", "openrouter", "generic"),
    ),
    Rule(
        "responses.openai.call_id.length",
        "call_id holds at most 64 characters.",
        "request types of the openai SDK 3.57",
        error_code="string_above_max_length",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.call_id.missing",
        "Calls and outputs carry a call_id.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=("openai", "codex", "openrouter", "generic"),
    ),
    Rule(
        "responses.openai.input.required",
        "Something to answer: input, or a continuation, or a stored prompt.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=("openai", "codex", "openrouter", "generic"),
    ),
    Rule(
        "responses.openai.input.type",
        "input is a string or a list of objects.",
        "request types of the openai SDK 3.57",
        error_code="invalid_type",
        dialects=("openai", "codex", "openrouter", "generic"),
    ),
    Rule(
        "responses.openai.item.id_chars",
        "Item ids may hold letters, digits, underscore and dash only and may not be empty.",
        "https://github.com/langchain-ai/langchainjs/issues/11044",
        error_code="invalid_value",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.item.id_prefix",
        "function_call.id must begin with fc (message msg_, reasoning rs_); reusing call_... as id fails.",
        "https://github.com/nodetool-ai/nodetool/issues/4252",
        error_code="invalid_value",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.item.without_reasoning",
        (
            "Converse: an id-carrying message/function_call produced with reasoning may not be replayed without "
            "its reasoning item."
        ),
        "https://github.com/continuedev/continue/issues/11994",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.message.chat_shape",
        "Keys of Chat Completions (messages, tool_calls, tool_call_id) are unknown here.",
        "request types of the openai SDK 3.57",
        error_code="unknown_parameter",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.message.content",
        "The content of a message is a string or a list of parts.",
        "request types of the openai SDK 3.57",
        error_code="invalid_type",
        dialects=("openai", "codex", "openrouter", "generic"),
    ),
    Rule(
        "responses.openai.message.part",
        "Parts are input_text, input_image, input_file for users and output_text, refusal for the assistant.",
        "request types of the openai SDK 3.57",
        error_code="invalid_value",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.message.role",
        "Roles are user, assistant, system and developer; there is no tool role.",
        "request types of the openai SDK 3.57",
        error_code="invalid_value",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.output.custom_vs_function",
        "custom_tool_call must be answered with custom_tool_call_output (not function_call_output).",
        "openai 3.57 SDK: types/responses/response_custom_tool_call_output_param.py",
        dialects=("openai", "codex", "openrouter", "generic"),
    ),
    Rule(
        "responses.openai.output.orphan",
        "An output answers a call that stands before it.",
        "https://github.com/continuedev/continue/issues/10092",
        dialects=("openai", "codex", "openrouter", "generic"),
    ),
    Rule(
        "responses.openai.output.part",
        "Outputs hold input_text, input_image and input_file, no parts of other wires or of the model.",
        "request types of the openai SDK 3.57",
        error_code="invalid_value",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.output.type",
        "function_call_output.output is a string or a list of input_text/input_image/input_file; an object is rejected.",
        "openai 3.57 SDK: types/responses/response_input_item_param.py",
        error_code="invalid_type",
        dialects=("openai", "codex", "openrouter", "generic"),
    ),
    Rule(
        "responses.openai.part.file_data",
        "The data of a file is a data URL, and neither sound nor film.",
        "recorded answer of api.openai.com",
        error_code="invalid_value",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.part.file_url",
        "The file at an address is neither sound nor film.",
        "recorded answer of api.openai.com",
        error_code="unsupported_file",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.part.image_url",
        "The address of a picture is a text.",
        "request types of the openai SDK 3.57",
        error_code="invalid_type",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.part.source",
        "A picture or file says where it is.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=(
            "openai",
            "codex",
        ),
    ),
    Rule(
        "responses.openai.reasoning.encrypted_invalid",
        "encrypted_content that cannot be verified/decrypted (other org, other model family, edited).",
        "https://github.com/openai/codex/issues/8145; https://github.com/Wei-Shaw/sub2api/issues/2863",
        error_code="invalid_encrypted_content",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.reasoning.store_false_id",
        "With store=false a reasoning item referenced only by id cannot be found; encrypted_content has to be replayed.",
        (
            "https://github.com/earendil-works/pi/issues/3369; https://github.com/vercel/ai/issues/7543; "
            "https://github.com/continuedev/continue/issues/9101"
        ),
        status=404,
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.reasoning.summary",
        "A reasoning item carries its summary, which may be an empty list.",
        "request types of the openai SDK 3.57",
        error_code="missing_required_parameter",
        dialects=("openai", "codex"),
    ),
    Rule(
        "responses.openai.reasoning.without_following",
        "A reasoning item is followed by the item that it was made for.",
        "https://github.com/continuedev/continue/issues/8933; recorded answer of api.openai.com",
        dialects=("openai", "codex"),
    ),
)
