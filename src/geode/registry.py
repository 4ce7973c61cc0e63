"""The adapters of this process: filling the registry, changing it, asking it.

`session`, `run`, `Runtime` and the container fill it by themselves.
"""

from geode.entrypoints.routes.registry import Override, bootstrap_builtins, current, register_adapter, reload_adapters
from geode.entrypoints.routes.snapshot import Entry, Listed, Registry
from geode.ports.adapters import AdapterContext, AdapterFactory

__all__ = [
    "AdapterContext",
    "AdapterFactory",
    "Entry",
    "Listed",
    "Override",
    "Registry",
    "bootstrap_builtins",
    "current",
    "register_adapter",
    "reload_adapters",
]
