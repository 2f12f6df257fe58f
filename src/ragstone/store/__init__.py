"""What Ragstone keeps besides the index."""
