"""Cutting documents into pieces."""

import textwrap
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.ingest.chunk import chunk
from ragstone.ingest.document import Block, document_text

pytestmark = pytest.mark.slow

_TEXT = st.text(
    alphabet=st.sampled_from("abc de. fg! \n\n 。中文อัก\u0301é👩🏽\u200d💻|x-"), max_size=300
)
_BLOCKS = st.lists(
    st.builds(
        Block,
        text=_TEXT,
        kind=st.sampled_from(["heading", "paragraph", "table", "list", "code"]),
        level=st.integers(0, 4),
        page=st.integers(1, 5),
    ),
    max_size=12,
)
_SIZES = st.tuples(st.integers(20, 120), st.integers(0, 10))


@given(_BLOCKS, _SIZES)
@settings(max_examples=150)
def test_given_any_blocks_when_cut_then_each_piece_is_its_span_of_the_document(
    blocks: list[Block], sizes: tuple[int, int]
) -> None:
    text = document_text(blocks)
    for piece in chunk(blocks, *sizes):
        assert text[piece.start : piece.end] == piece.text
        assert piece.text == piece.text.strip() != ""


@given(_BLOCKS, _SIZES)
@settings(max_examples=150)
def test_given_any_blocks_when_cut_then_pieces_cover_everything_but_white_space(
    blocks: list[Block], sizes: tuple[int, int]
) -> None:
    text = document_text(blocks)
    covered = [False] * len(text)
    for piece in chunk(blocks, *sizes):
        covered[piece.start : piece.end] = [True] * len(piece.text)
    assert not [c for c, inside in zip(text, covered, strict=True) if not inside and c.strip()]


@given(_BLOCKS, _SIZES)
@settings(max_examples=150)
def test_given_any_blocks_when_cut_then_pieces_keep_the_size_and_never_contain_another(
    blocks: list[Block], sizes: tuple[int, int]
) -> None:
    pieces = list(chunk(blocks, *sizes))
    for piece in pieces:
        assert len(piece.text) <= sizes[0] * (2 if piece.kind == "table" else 1)
    for one, other in pairwise(pieces):
        assert one.start < other.start
        assert one.end < other.end
        if one.section != other.section:
            assert one.end <= other.start


@given(_BLOCKS)
@settings(max_examples=100)
def test_given_another_measure_when_cut_then_it_is_what_counts(blocks: list[Block]) -> None:
    def tokens(text: str) -> int:
        return (len(text.encode()) + 2) // 3

    text = document_text(blocks)
    for piece in chunk(blocks, 40, 8, tokens):
        assert text[piece.start : piece.end] == piece.text
        assert tokens(piece.text) <= (80 if piece.kind == "table" else 40)


def test_given_sections_when_cut_then_the_heading_goes_with_its_text_and_names_the_section() -> (
    None
):
    blocks = [
        Block("Leave", "heading", 1, 1),
        Block("Rules of leave. " * 30, page=1),
        Block("Sickness", "heading", 2, 2),
        Block("Call before ten. " * 30, page=2),
        Block("Travel", "heading", 1, 3),
        Block("Book by train. " * 30, page=3),
    ]
    pieces = list(chunk(blocks, 600, 100))
    assert [(p.text.split("\n")[0], p.section, p.page) for p in pieces] == [
        ("Leave", ("Leave",), 1),
        ("Sickness", ("Leave", "Sickness"), 2),
        ("Travel", ("Travel",), 3),
    ]


def test_given_tiny_neighbouring_sections_when_cut_then_they_share_a_piece_and_their_parent() -> (
    None
):
    blocks = [Block("Terms", "heading", 1)]
    for term in ("Alpha", "Beta", "Gamma"):
        blocks += [Block(term, "heading", 2), Block(f"{term} is a letter.")]
    (piece,) = chunk(blocks, 1000, 0)
    assert piece.section == ("Terms",)
    assert piece.text == document_text(blocks)


def test_given_a_heading_without_text_when_cut_then_it_goes_with_the_next_section() -> None:
    blocks = [
        Block("Part I", "heading", 1),
        Block("Business", "heading", 2),
        Block("We sell software. " * 40),
    ]
    pieces = list(chunk(blocks, 400, 50))
    assert pieces[0].text.startswith("Part I\n\nBusiness\n\nWe sell")
    assert {p.section for p in pieces} == {("Part I", "Business")}


def test_given_long_text_when_cut_then_pieces_end_at_sentences_and_overlap() -> None:
    sentences = [f"Sentence number {n} says something of its own." for n in range(100)]
    pieces = list(chunk([Block(" ".join(sentences))], 500, 100))
    assert all(p.text.endswith(".") and p.text.startswith("Sentence") for p in pieces)
    overlaps = [a.end - b.start for a, b in pairwise(pieces)]
    assert all(0 < overlap <= 100 for overlap in overlaps)


def test_given_wrapped_lines_when_cut_then_pieces_end_at_sentences_all_the_same() -> None:
    sentences = [f"Sentence number {n} says that something of its own is so." for n in range(100)]
    wrapped = textwrap.fill(" ".join(sentences), 70)
    pieces = list(chunk([Block(wrapped)], 500, 100))
    assert all(p.text.endswith(".") and p.text.startswith("Sentence") for p in pieces)


def test_given_a_list_of_wrapped_items_when_cut_then_no_item_is_torn() -> None:
    items = [f"- item {n} says\n  something about itself" for n in range(50)]
    pieces = list(chunk([Block("\n".join(items), "list")], 200, 0))
    assert all(p.text.startswith("- item") and p.text.endswith("itself") for p in pieces)


def test_given_paragraphs_when_cut_then_pieces_prefer_to_end_with_one() -> None:
    blocks = [Block(f"Paragraph {n}. " + "It goes on a little. " * 12) for n in range(8)]
    pieces = list(chunk(blocks, 700, 0))
    assert all(p.text.startswith("Paragraph") for p in pieces)


def test_given_a_table_under_twice_the_size_when_cut_then_it_stays_whole_with_its_heading() -> None:
    rows = "\n".join(f"Row {n} | {n * 7}" for n in range(30))
    blocks = [Block("Before. " * 10), Block("Sales", "heading", 1), Block(rows, "table")]
    pieces = list(chunk(blocks, 300, 50))
    assert pieces[-1].text == f"Sales\n\n{rows}"
    assert pieces[-1].kind == "table"


def test_given_a_longer_table_when_cut_then_it_is_cut_between_rows() -> None:
    rows = "\n".join(f"Row {n} | {n * 7}" for n in range(300))
    pieces = list(chunk([Block(rows, "table")], 300, 60))
    assert len(pieces) > 10
    assert all(p.kind == "table" and p.text.startswith("Row") for p in pieces)
    assert all(line in rows.split("\n") for p in pieces for line in p.text.split("\n"))


def test_given_chinese_without_spaces_when_cut_then_pieces_end_at_the_full_stop() -> None:
    pieces = list(chunk([Block("北京是中国的首都，人口超过两千万。" * 40)], 100, 20))
    assert all(p.text.endswith("。") for p in pieces)


def test_given_thai_without_marks_when_cut_then_no_vowel_is_torn_from_its_letter() -> None:
    pieces = list(chunk([Block("กี่" * 400)], 100, 0))
    assert all(p.text[0] == "ก" for p in pieces)


@pytest.mark.conforms("Query pipeline", "Step 7", "Image credits are a kind of their own")
@pytest.mark.parametrize(
    ("heading", "body", "kind"),
    [
        ("Glossary", "Alpha means the first.", "glossary"),
        ("7. Häufige Fragen", "Wann? Montags.", "faq"),
        ("Remerciements", "Merci à tous.", "credits"),
        ("Image credits", "Cover: A. Adams.", "credits"),
        ("Bildnachweis", "Titel: A. Adams.", "credits"),
        ("Introduction", "Alpha means the first.", "normal"),
        ("Start", "One ........ 3\nTwo ........ 14\nThree . . . . . 20", "toc"),
        ("Table of contents", "Business 3\nRisks 20\nProperty 34", "toc"),
    ],
)
def test_given_a_section_of_a_known_kind_when_cut_then_its_pieces_say_so(
    heading: str, body: str, kind: str
) -> None:
    (piece,) = chunk([Block(heading, "heading", 1), Block(body)], 1000, 0)
    assert piece.kind == kind


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ("question: When is it open?; answer: From 9 to 17.", "faq"),
        ("问题: 几点开门?; 答案: 九点。", "faq"),
        ("question: 12; score: 3", "table"),
    ],
)
def test_given_a_table_of_questions_and_answers_when_cut_then_it_is_a_faq(
    row: str, kind: str
) -> None:
    (piece,) = chunk([Block(f"{row}\n{row}", "table")], 1000, 0)
    assert piece.kind == kind


def test_given_an_endless_document_when_cut_then_memory_stays_bounded() -> None:
    def blocks() -> Iterator[Block]:
        for number in range(8_000):
            yield Block(f"Paragraph {number} of a very long document. " * 5)

    tracemalloc.start()
    count = sum(1 for _ in chunk(blocks(), 1000, 200))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count > 1600
    assert peak < 2_000_000
