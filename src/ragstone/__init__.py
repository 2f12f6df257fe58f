"""Ragstone answers questions from your own documents and shows where every sentence comes from."""

__version__ = "0.1.0"
