"""The sample of an adapter of one's own, and its proof: it passes as it stands."""

from tests.unit.entrypoints.samples.i_proof import TestAcme

__all__ = ["TestAcme"]
