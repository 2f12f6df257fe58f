"""What a question asks: follow-ups, small talk, spelling, routing, other words."""
