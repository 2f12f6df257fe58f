"""One small extension of every kind for Ragstone: each file is one, and stands by itself."""
