"""The chunk index on Elasticsearch."""
