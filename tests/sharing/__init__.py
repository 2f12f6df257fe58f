"""Tests of shared conversations and notes."""
