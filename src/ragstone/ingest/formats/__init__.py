"""File formats: one file each."""
