"""A document is summed up by how it and its sections begin."""

from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.extractive.summary import SECTIONS, summary
from tests.engine.samples import a_passage

GUIDE = """# Pump guide

Version 3, 12 May 2024

This guide tells how the Heron pump is installed and kept. It is meant for technicians.

## Installing

The pump stands on a level floor. Four bolts hold it.

## Cleaning

Rinse the filter once a week.
"""


def lines(text: str) -> list[tuple[str, str]]:
    return [(line.heading, line.text) for line in summary([a_passage(1, text)])]


def test_it_has_the_title_the_beginning_and_each_section() -> None:
    assert lines(GUIDE) == [
        ("Pump guide", ""),
        ("", "This guide tells how the Heron pump is installed and kept."),
        ("", "It is meant for technicians."),
        ("Installing", "The pump stands on a level floor."),
        ("Cleaning", "Rinse the filter once a week."),
    ]


def test_an_introduction_comes_before_what_stands_on_the_cover() -> None:
    text = (
        "Printed by the Meyer company in Bonn.\n\n# Summary\n\nThe pump moves two litres a minute."
    )
    assert ("", "The pump moves two litres a minute.") in lines(text)


def test_each_line_names_its_own_passage() -> None:
    first, second = GUIDE.split("## Cleaning")
    found = summary([a_passage(1, first), a_passage(2, f"## Cleaning{second}")])
    assert {line.heading: line.number for line in found if line.heading}["Cleaning"] == 2


def test_each_of_several_documents_stands_under_its_title_with_its_first_sections() -> None:
    found = summary([a_passage(n, GUIDE, document_id=f"guide-{n}") for n in range(1, 6)])

    titles = [(line.number, line.heading) for line in found if line.is_title]
    assert titles == [(number, "Pump guide") for number in range(1, 6)]
    sections = [line.heading for line in found if line.heading and not line.is_title]
    assert sections == ["Installing"] * 5


def test_without_prose_there_is_none() -> None:
    assert summary([a_passage(1, "# 12\n\n(408) 540-3700\n\n____ ____")]) == []


@given(st.lists(st.text(max_size=200), max_size=5))
def test_any_passages_can_be_summed_up(texts: list[str]) -> None:
    found = summary([a_passage(n, text) for n, text in enumerate(texts, start=1)])
    assert sum(bool(line.heading) for line in found) <= SECTIONS + 1
    assert all(line.text or line.heading for line in found)
