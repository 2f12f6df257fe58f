"""Conversations and statistics in MongoDB."""
