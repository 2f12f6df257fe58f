"""What several servers share in Redis."""
