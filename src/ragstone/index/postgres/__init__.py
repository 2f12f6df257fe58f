"""The chunk index on PostgreSQL with pgvector."""
