"""The memory of a conversation, and the record of a question."""
