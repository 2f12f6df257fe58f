"""The dialect of Plone."""
