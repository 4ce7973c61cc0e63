"""A server of the Model Context Protocol, as an application declares it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from geode.domain.tiers import SafetyTier, TierName


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server that is started (`command`) or reached (`url`), one of both.

    `env`: names of variables that the child is given beside PATH, HOME and the like, or a mapping of values of its
    own; nothing else of this process's environment reaches it. `headers` go with each request to a `url`.
    `required=False`: a session goes on without it where it cannot be had.
    `trusted=True`: what it says of its tools is believed, so that those it calls read-only are MCP_TRUSTED; else each
    is DANGEROUS. `tiers` says it by the server's own names of its tools, whatever the server says.
    `prefix=True` puts the server's name in front of the names of all its tools; else only where names clash.
    `deferred=False` keeps its tools in every request, however many tools there are. `framed=True` puts what its tools
    say between marks that it cannot forge. `descriptions=False` hides what the server says of its tools from the model.
    Timeouts are for starting it, for one listing of all its tools, and for one call; seconds, above 0.
    """

    name: str = field(kw_only=False)
    command: Sequence[str] = ()
    url: str = ""
    env: Sequence[str] | Mapping[str, str] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    required: bool = True
    trusted: bool = False
    tiers: Mapping[str, SafetyTier | TierName] = field(default_factory=dict[str, SafetyTier | TierName])
    prefix: bool = False
    deferred: bool = True
    framed: bool = False
    descriptions: bool = True
    start_timeout_seconds: float = 30.0
    list_timeout_seconds: float = 30.0
    call_timeout_seconds: float = 120.0
