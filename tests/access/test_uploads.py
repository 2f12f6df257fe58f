"""Only files with the endings of the settings are taken."""

import pytest

from ragstone.access.uploads import check_type
from ragstone.core.errors import WrongType


@pytest.mark.parametrize("name", ["a.pdf", "A.PDF", "x/y.b.docx", ".a.docx"])
def test_given_an_ending_that_is_listed_then_it_is_taken(name: str) -> None:
    check_type(name, ("pdf", ".DOCX"))
    check_type(name, ())


@pytest.mark.parametrize("name", ["a.exe", "a", "", "pdf", "a.pdf.exe", ".pdf.", "a.pdf\n"])
def test_given_another_ending_then_it_is_refused(name: str) -> None:
    with pytest.raises(WrongType):
        check_type(name, ("pdf",))
