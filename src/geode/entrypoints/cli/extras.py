"""Packages that only some commands need."""

from __future__ import annotations

from importlib.util import find_spec

from geode.domain.errors import Misuse


def needs(package: str, command: str, extra: str) -> None:
    """Misuse that names the extra where the package is not installed."""
    if find_spec(package) is None:
        raise Misuse("missing-extra", f'{command} needs the package {package}: pip install "geode[{extra}]"')
