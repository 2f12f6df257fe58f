"""Servers that the suites run against."""

from tests.conformance.elasticsearch_server import elasticsearch

__all__ = ["elasticsearch"]
