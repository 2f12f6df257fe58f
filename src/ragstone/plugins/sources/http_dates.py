"""Dates in headers of HTTP and answers of WebDAV."""

from email.utils import parsedate_to_datetime


def parse_http_date(date: str) -> float | None:
    """Return a date in seconds since 1970, None for what is none."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None
