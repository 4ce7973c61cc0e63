"""What `pytest --pyargs geode.entrypoints.compliance --geode-adapter NAME` collects."""

from __future__ import annotations

from geode.entrypoints.compliance.registered import chosen_contract

TestRegistered = chosen_contract()
