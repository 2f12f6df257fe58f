"""Tools of other servers."""
