"""Pillow makes pictures smaller as the contract of every resizer says."""

from geode.entrypoints.compliance.images import ImageResizerContract
from geode.entrypoints.compliance.shipped import PillowImagesHarness


class TestPillowImages(ImageResizerContract):
    harness = PillowImagesHarness
