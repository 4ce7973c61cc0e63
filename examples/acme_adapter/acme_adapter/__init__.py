"""An adapter for Acme, a provider that does not exist."""

from acme_adapter.adapter import Acme

__all__ = ["Acme"]
