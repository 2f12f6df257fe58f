"""What administrators do over HTTP."""
