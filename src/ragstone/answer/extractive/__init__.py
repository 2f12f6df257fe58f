"""Answers without a chat model, from the documents' own sentences."""
