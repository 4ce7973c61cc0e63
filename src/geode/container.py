"""geode as a part of a dependency-injector container."""

from geode.entrypoints.container import GeodeContainer

__all__ = ["GeodeContainer"]
