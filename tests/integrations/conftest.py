"""The data directory of the Python API's tests."""

from tests.api.conftest import data

__all__ = ["data"]
