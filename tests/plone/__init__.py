"""A real Plone site for the tests marked `real`."""
