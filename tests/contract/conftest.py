"""One server for all tests of this folder, and assertions that explain themselves in the shared classes too."""

from collections.abc import Iterator

import pytest

for _name in ("adapter_contract", "wire_contract", "fault_contract", "http_contract", "reading"):
    pytest.register_assert_rewrite(f"tests.contract.{_name}")


@pytest.fixture(scope="session", autouse=True)
def _server() -> Iterator[None]:
    from tests.contract.http import serving

    with serving():
        yield
