"""Forbidden topics."""
