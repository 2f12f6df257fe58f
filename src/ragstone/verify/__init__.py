"""Whether sources support an answer."""
