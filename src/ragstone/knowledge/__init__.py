"""What is made of documents beside their chunks, and answers what no single passage does."""
