"""Documents from other systems."""
