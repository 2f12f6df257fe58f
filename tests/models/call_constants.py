"""The constants of calls of a chat model, changed for one test."""

from typing import Any

import pytest

USUAL = {
    "retry_seconds": 20.0,
    "breaker_failures": 5,
    "breaker_recovery": 30.0,
    "patience": 60.0,
    "parallel": 200,
}


def settings_of(monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]) -> dict[str, Any]:
    """What of `given` is settings; the rest is made the constants of the next model."""
    for name, usual in USUAL.items():
        monkeypatch.setattr(f"ragstone.models.calls.{name.upper()}", given.get(name, usual))
    return {name: value for name, value in given.items() if name not in USUAL}
