"""Fixtures for tests of applications; pytest loads this module by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def no_network() -> Iterator[None]:
    """The test fails when anything in it opens a connection, loopback included."""
    from geode.entrypoints.testing import no_network as forbidden

    with forbidden():
        yield
