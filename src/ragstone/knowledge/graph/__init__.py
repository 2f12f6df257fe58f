"""The entity graph: what chunks name, and how a question finds by it what its words do not."""
