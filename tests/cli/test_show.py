"""What the command line prints of an answer."""

import pytest

from ragstone.cli.show import show_sources
from ragstone.core.source import Source


@pytest.mark.parametrize(
    ("end", "shown"),
    [(21, "The notice is 30 days"), (90, "The notice is 30 ...")],
)
def test_given_a_span_that_is_cut_then_it_ends_with_a_word_and_dots(
    end: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_sources([Source(1, "d", "c", "Lease", "/a", 2, (), 0, end, "The notice is 30 days", 1)])
    assert capsys.readouterr().out == f"\nSources\n[1] Lease, /a, page 2\n    {shown}\n"
