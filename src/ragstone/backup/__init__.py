"""Backups of a whole Ragstone, and the examination of what disagrees in it."""
