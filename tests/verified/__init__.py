"""Tests of verified answers."""
