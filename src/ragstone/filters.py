"""Conditions on documents for `where`; `core.filters` says what they mean."""

from ragstone.core.filters import And, AnyOf, Filter, Not, Or, Range, eq, path_filter

__all__ = ["And", "AnyOf", "Filter", "Not", "Or", "Range", "eq", "path_filter"]
