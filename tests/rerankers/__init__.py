"""Tests of the rerankers of a plugin."""
