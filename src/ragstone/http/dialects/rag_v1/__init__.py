"""The dialect of the RAG engine v1."""
