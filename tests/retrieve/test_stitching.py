"""Stitching: a widened or narrowed chunk is still exactly the document's text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.chunk import Chunk
from ragstone.retrieve.expand import narrow_chunk, paragraphs, stitch_neighbours
from tests.engine.samples import a_chunk

DOCUMENT = "".join(f"Sentence {i} of the story. " for i in range(40))


def pieces(size: int, overlap: int) -> list[Chunk]:
    starts = range(0, len(DOCUMENT) - overlap, size - overlap)
    return [
        a_chunk(DOCUMENT[start : start + size], start=start, chunk_index=i)
        for i, start in enumerate(starts)
    ]


@given(st.integers(20, 200), st.integers(0, 19), st.data())
def test_given_neighbours_then_the_text_is_the_documents_from_start_to_end(
    size: int, overlap: int, data: st.DataObject
) -> None:
    chunks = pieces(size, overlap)
    middle = data.draw(st.integers(0, len(chunks) - 1))
    reach = data.draw(st.integers(0, 3))
    near = chunks[max(0, middle - reach) : middle + reach + 1]
    wide = stitch_neighbours(data.draw(st.permutations(near)), chunks[middle])
    assert wide.text == DOCUMENT[wide.start : wide.end]
    assert (wide.start, wide.end) == (near[0].start, near[-1].end)
    assert wide.chunk_id == chunks[middle].chunk_id


def test_given_a_gap_of_space_then_positions_still_hold() -> None:
    first = a_chunk("One.", start=0, chunk_index=0)
    second = a_chunk("Two.", start=6, chunk_index=1)
    wide = stitch_neighbours([first], second)
    assert wide.text == "One.\n\nTwo."
    assert wide.text[second.start - wide.start :] == "Two."


def test_given_a_gap_that_hides_text_then_the_neighbour_is_left_out() -> None:
    far = a_chunk("Far away.", start=5000, chunk_index=2)
    near = a_chunk("Here.", start=0, chunk_index=1)
    assert stitch_neighbours([far], near).text == "Here."


@given(st.text("ab \n", max_size=60))
def test_paragraphs_hold_every_word_once(text: str) -> None:
    spans = list(paragraphs(text))
    said = " ".join(text[s.start : s.end] for s in spans)
    assert said.split() == text.split()
    assert all(text[s.start : s.end].strip() for s in spans)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("A full charge lasts 31\ndays.\n\nNext.", ["A full charge lasts 31\ndays.", "Next."]),
        (
            "## Power\n\nIt runs.\n\n## More\n\nAnd on.",
            ["## Power\n\nIt runs.", "## More\n\nAnd on."],
        ),
        ("Ends.\nNew line.", ["Ends.", "New line."]),
        ("- one\n- two\n| a | b |\n| c | d |", ["- one", "- two", "| a | b |", "| c | d |"]),
        ("句子一。\n句子二", ["句子一。", "句子二"]),
        ("only a heading", ["only a heading"]),
    ],
)
def test_given_text_then_its_paragraphs(text: str, parts: list[str]) -> None:
    assert [text[span.start : span.end].strip() for span in paragraphs(text)] == parts


def test_given_a_span_then_the_part_knows_its_place() -> None:
    chunk = a_chunk("First.\n\nSecond.", start=100)
    part = narrow_chunk(chunk, list(paragraphs(chunk.text))[1])
    assert (part.text, part.start, part.end) == ("Second.", 108, 115)
