"""From passages to an answer: prompts, streaming, citations."""
