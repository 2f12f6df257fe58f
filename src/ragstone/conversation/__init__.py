"""What is remembered of a conversation, and the record of a question."""
