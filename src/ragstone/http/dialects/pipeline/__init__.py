"""The dialect of the query pipeline."""
