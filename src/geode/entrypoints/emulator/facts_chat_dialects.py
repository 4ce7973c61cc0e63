"""The rules of the dialects of Chat Completions as data: what is refused, how, and where that is known from."""

from __future__ import annotations

from typing import Final

from geode.entrypoints.emulator.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "chat.generic.deepseek_parts",
        "DeepSeek: parts are texts.",
        "recorded answers of api.deepseek.com",
        error_code="invalid_request_error",
        dialects=("generic",),
    ),
    Rule(
        "chat.generic.deepseek_unanswered",
        "DeepSeek: unanswered tool_calls, code equals type.",
        "https://github.com/agno-agi/agno/issues/3105",
        error_code="invalid_request_error",
        dialects=("generic",),
    ),
    Rule(
        "chat.generic.mistral_id",
        "Mistral: tool call ids must be exactly nine alphanumerics.",
        "https://github.com/jackmpcollins/magentic/issues/276",
        dialects=("generic",),
    ),
    Rule(
        "chat.generic.name_length_64",
        "Qwen/DeepSeek: names over 64 are refused.",
        "https://github.com/QwenLM/Qwen3-VL/issues/2069; https://github.com/mrexodia/ida-pro-mcp/issues/129",
        dialects=("generic",),
    ),
    Rule(
        "chat.generic.thinking_tool_choice",
        "DashScope/DeepSeek: thinking mode refuses tool_choice required/object.",
        "https://github.com/cloudwego/eino/issues/994",
        dialects=("generic",),
    ),
    Rule(
        "chat.glm.bad_param",
        "Unsupported or malformed parameter.",
        "https://github.com/cline/cline/issues/9939",
        error_type=None,
        error_code="1210",
        dialects=("glm",),
    ),
    Rule(
        "chat.glm.json_schema",
        "response_format json_schema is not enforced (JSON mode only).",
        "https://www.developersdigest.tech/blog/structured-outputs-across-ai-apis-2026",
        error_type=None,
        error_code="1210",
        dialects=("glm",),
    ),
    Rule(
        "chat.glm.max_tokens_range",
        "max_tokens outside [1,131072] is rejected, not clamped.",
        "https://dev.to/aihubmix/glm-53-api-guide-always-on-thinking-3-effort-levels-and-the-support-matrix-1d8e",
        error_type=None,
        error_code="1210",
        dialects=("glm",),
    ),
    Rule(
        "chat.glm.missing_param",
        "Required parameter missing.",
        "https://docs.z.ai/api-reference/api-code",
        error_type=None,
        error_code="1213",
        dialects=("glm",),
    ),
    Rule(
        "chat.glm.model_unknown",
        "A model that is not served does not exist.",
        "https://docs.z.ai/api-reference/api-code",
        error_type=None,
        error_code="1211",
        dialects=("glm",),
    ),
    Rule(
        "chat.glm.mutex_param",
        "Mutually exclusive parameters.",
        "https://docs.z.ai/api-reference/api-code",
        error_type=None,
        error_code="1215",
        dialects=("glm",),
    ),
    Rule(
        "chat.glm.no_user_message",
        "At least one user message is needed (system + tool history alone is illegal).",
        "https://github.com/anomalyco/opencode/issues/2557",
        error_type=None,
        error_code="1214",
        dialects=("glm",),
    ),
    Rule(
        "chat.glm.repeated_tool_call_id",
        "The same tool_call id twice in history is illegal.",
        "https://github.com/MetaGLM/zhipuai-sdk-python-v4/issues/14",
        error_type=None,
        error_code="1214",
        dialects=("glm",),
    ),
    Rule(
        "chat.glm.unanswered",
        "tool_calls without tool messages are illegal.",
        "https://docs.z.ai/api-reference/api-code",
        error_type=None,
        error_code="1214",
        dialects=("glm",),
    ),
    Rule(
        "chat.openrouter.reasoning_both",
        "reasoning.effort and reasoning.max_tokens exclude each other.",
        "https://openrouter.ai/docs/use-cases/reasoning-tokens",
        error_type=None,
        error_code="400",
        dialects=("openrouter",),
    ),
    Rule(
        "chat.openrouter.tools_each_step",
        "tools must be re-sent in every request of the loop, also with the tool results.",
        "https://openrouter.ai/docs/features/tool-calling",
        error_type=None,
        error_code="400",
        dialects=("openrouter",),
    ),
)
