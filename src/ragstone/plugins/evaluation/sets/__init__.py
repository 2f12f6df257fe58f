"""Sets of questions about one's own documents: reading, judging, measuring and reporting them."""
