"""Rerankers: late interaction, cross-encoders, endpoints, the chat model."""
