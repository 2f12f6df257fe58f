"""The chunk index on a Qdrant server."""
