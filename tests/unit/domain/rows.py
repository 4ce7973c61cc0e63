"""The rows that ship, for the wires that they are for."""

from __future__ import annotations

from geode.entrypoints.routes.capabilities import capabilities_of

CLAUDE = capabilities_of("messages").models
GPT = capabilities_of("responses", "openai").models
GPT_CHAT = capabilities_of("chat", "openai").models
RELAYED = capabilities_of("chat", "openrouter").models
GLM = capabilities_of("chat", "glm").models
