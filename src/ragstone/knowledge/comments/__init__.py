"""Customers' comments: read from tables, counted and quoted."""
