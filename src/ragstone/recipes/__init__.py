"""Which stages answer which question."""
