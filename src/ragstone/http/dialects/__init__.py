"""One folder for each API that Ragstone speaks."""
