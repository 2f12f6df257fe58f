"""Plone sites."""
