"""The HTTP server and its dialects."""
