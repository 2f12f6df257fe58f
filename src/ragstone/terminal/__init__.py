"""The commands as a person at a terminal sees them."""
