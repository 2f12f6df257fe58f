"""Jobs of tests are tried again soon, and not often."""

import pytest

from ragstone.jobs import ending


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "RETRIES", 2)
    monkeypatch.setattr(ending, "RETRY_SECONDS", 0.05)
