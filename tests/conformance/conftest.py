"""Servers that the suites run against."""

from tests.conformance.elasticsearch_server import elasticsearch
from tests.conformance.postgres_server import postgres

__all__ = ["elasticsearch", "postgres"]
