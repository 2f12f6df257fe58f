"""The state store in SQLite or PostgreSQL."""
