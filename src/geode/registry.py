"""The adapters of this process: filling the registry, changing it, asking it.

`session`, `run`, `Runtime` and the container fill it by themselves.
"""

from geode.entrypoints.adapter_registry import Entry, Listed, Registry
from geode.entrypoints.registry import Override, bootstrap_builtins, current, register_adapter, reload_adapters
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
