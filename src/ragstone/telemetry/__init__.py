"""Figures and spans."""
