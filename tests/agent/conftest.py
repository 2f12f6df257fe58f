"""A machine that runs tests may be slow to connect."""

import pytest

from tests.patience import PATIENCE


@pytest.fixture(autouse=True)
def patient_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.plugins.agent.tools.gateway.CONNECT_SECONDS", PATIENCE)
