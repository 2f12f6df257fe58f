"""Servers that ingests write to."""

from tests.conformance.elasticsearch_server import elasticsearch
from tests.conformance.qdrant_server import qdrant

__all__ = ["elasticsearch", "qdrant"]
