"""geode: tool calling with large language models, in a conversation that never gets out of step.

    outcome = await geode.run("Weather in Paris?", model="gpt-5.2", tools=[get_weather])

The names below are loaded when they are first used: `import geode` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from geode.domain.approval import Approve as Approve
    from geode.domain.approval import Deny as Deny
    from geode.domain.approval import Grant as Grant
    from geode.domain.approval import Later as Later
    from geode.domain.content import Document as Document
    from geode.domain.content import DocumentUrl as DocumentUrl
    from geode.domain.content import Image as Image
    from geode.domain.content import ImageUrl as ImageUrl
    from geode.domain.content import ToolResult as ToolResult
    from geode.domain.content import ToolUseBlock as ToolUseBlock
    from geode.domain.conversation import Conversation as Conversation
    from geode.domain.errors import Misuse as Misuse
    from geode.domain.loop.outcome import Answered as Answered
    from geode.domain.loop.outcome import Exhausted as Exhausted
    from geode.domain.loop.outcome import Failed as Failed
    from geode.domain.loop.outcome import Outcome as Outcome
    from geode.domain.loop.outcome import Refused as Refused
    from geode.domain.loop.outcome import Stopped as Stopped
    from geode.domain.loop.outcome import Suspended as Suspended
    from geode.domain.mcp_server import McpServer as McpServer
    from geode.domain.offload import ResultLimits as ResultLimits
    from geode.domain.policy import Policy as Policy
    from geode.domain.provider import Provider as Provider
    from geode.domain.retry import RetryPolicy as RetryPolicy
    from geode.domain.targets import Quirks as Quirks
    from geode.domain.targets import WireName as WireName
    from geode.domain.tiers import SafetyTier as SafetyTier
    from geode.domain.toolkits import Toolkit as Toolkit
    from geode.domain.toolkits import ToolkitContext as ToolkitContext
    from geode.domain.tools import ToolSpec as ToolSpec
    from geode.domain.usage import Usage as Usage
    from geode.entrypoints.mcp_servers import mcp_servers_from as mcp_servers_from
    from geode.entrypoints.runtime import Runtime as Runtime
    from geode.entrypoints.runtime import run as run
    from geode.entrypoints.runtime import session as session
    from geode.entrypoints.subagents import subagent as subagent
    from geode.entrypoints.tools import tool as tool
    from geode.entrypoints.tools import tools_from as tools_from
    from geode.entrypoints.wire.embedding import conversation_from as conversation_from
    from geode.ports.hooks import Hooks as Hooks
    from geode.ports.hooks import Veto as Veto
    from geode.ports.tools import NotRun as NotRun
    from geode.ports.tools import ToolContext as ToolContext
    from geode.ports.tools import ToolError as ToolError
    from geode.ports.tools import ToolRetry as ToolRetry

__all__ = [
    "Answered",
    "Approve",
    "Conversation",
    "Deny",
    "Document",
    "DocumentUrl",
    "Exhausted",
    "Failed",
    "Grant",
    "Hooks",
    "Image",
    "ImageUrl",
    "Later",
    "McpServer",
    "Misuse",
    "NotRun",
    "Outcome",
    "Policy",
    "Provider",
    "Quirks",
    "Refused",
    "ResultLimits",
    "RetryPolicy",
    "Runtime",
    "SafetyTier",
    "Stopped",
    "Suspended",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "ToolRetry",
    "ToolSpec",
    "ToolUseBlock",
    "Toolkit",
    "ToolkitContext",
    "Usage",
    "Veto",
    "WireName",
    "conversation_from",
    "mcp_servers_from",
    "run",
    "session",
    "subagent",
    "tool",
    "tools_from",
]
__version__: Final = "0.1.0"

_HOME: Final = {
    "geode.domain.approval": ("Approve", "Deny", "Grant", "Later"),
    "geode.domain.content": ("Document", "DocumentUrl", "Image", "ImageUrl", "ToolResult", "ToolUseBlock"),
    "geode.domain.conversation": ("Conversation",),
    "geode.domain.errors": ("Misuse",),
    "geode.domain.loop.outcome": ("Answered", "Exhausted", "Failed", "Outcome", "Refused", "Stopped", "Suspended"),
    "geode.domain.offload": ("ResultLimits",),
    "geode.domain.mcp_server": ("McpServer",),
    "geode.domain.policy": ("Policy",),
    "geode.domain.usage": ("Usage",),
    "geode.domain.retry": ("RetryPolicy",),
    "geode.domain.provider": ("Provider",),
    "geode.domain.targets": ("Quirks", "WireName"),
    "geode.domain.tiers": ("SafetyTier",),
    "geode.domain.toolkits": ("Toolkit", "ToolkitContext"),
    "geode.domain.tools": ("ToolSpec",),
    "geode.entrypoints.mcp_servers": ("mcp_servers_from",),
    "geode.entrypoints.runtime": ("Runtime", "run", "session"),
    "geode.entrypoints.subagents": ("subagent",),
    "geode.entrypoints.tools": ("tool", "tools_from"),
    "geode.entrypoints.wire.embedding": ("conversation_from",),
    "geode.ports.hooks": ("Hooks", "Veto"),
    "geode.ports.tools": ("NotRun", "ToolContext", "ToolError", "ToolRetry"),
}
_MODULE_OF: Final = {name: module for module, names in _HOME.items() for name in names}


if not TYPE_CHECKING:
    # Hidden from type checkers, which would take any name for one of geode's.
    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'geode' has no attribute {name!r}")
        value = getattr(import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({"__version__", *_MODULE_OF})
