"""The pages show the figures that the last benchmarks stored."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import (
    BEGIN,
    END,
    HEADLINES,
    RESULTS,
    Rows,
    between_marks,
    pages,
)

STORED: Rows = json.loads(RESULTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("page", "shown"), pages(STORED), ids=("measured", "README", "compared"))
def test_a_page_shows_what_was_stored(page: Path, shown: str) -> None:
    text = page.read_text(encoding="utf-8")
    assert between_marks(text, shown) == text


def test_every_figure_of_the_readme_is_measured() -> None:
    found = {(name, row["what"]) for name, rows in STORED.items() for row in rows}
    assert HEADLINES - found == set()


def test_a_page_keeps_what_stands_round_its_table() -> None:
    page = f"before\n{BEGIN}old\n{END}\nafter\n"
    assert between_marks(page, "new\n") == f"before\n{BEGIN}new\n{END}\nafter\n"


@pytest.mark.parametrize("page", ["no marks", f"{BEGIN}no end", f"no begin {END}"])
def test_given_a_page_without_marks_then_nothing_is_written(page: str) -> None:
    with pytest.raises(ValueError, match="has no <!-- measured -->"):
        between_marks(page, "new")
