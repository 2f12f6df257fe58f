"""Words, sentences, numbers and languages: what several rooms use."""
