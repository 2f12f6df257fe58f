"""Who sends a request, by which credential, and how much of it is let through."""
