"""The semantic cache: whether two questions are the same, and where answers are kept."""
