"""A site that fails fails at once, and few objects are a page."""

import pytest

from ragstone.plugins.plone import client, sync


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "RETRIES", 0)
    monkeypatch.setattr(sync, "PAGE_SIZE", 2)
