"""Trees of summaries: made of the chunks of documents, and how questions are answered by them."""
