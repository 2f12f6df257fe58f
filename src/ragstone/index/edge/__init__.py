"""The chunk index on Qdrant Edge, in this process."""
