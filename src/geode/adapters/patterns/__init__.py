"""Regular expressions that cannot hang: `geode.ports.patterns` over the package `regex`."""

from geode.adapters.patterns.engine import compile_pattern

__all__ = ["compile_pattern"]
