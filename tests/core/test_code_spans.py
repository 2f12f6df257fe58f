"""Code inside a line: from exact text to a span and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.chunk import Chunk
from ragstone.core.code_spans import by_code, code_span, without_spans
from ragstone.core.document import BlockSpan, encode_blocks
from ragstone.language.code_blocks import span_end


@pytest.mark.parametrize(
    ("code", "span"),
    [
        ("hl[14]", "`hl[14]`"),
        ("a`b", "``a`b``"),
        ("`", "`` ` ``"),
        ("``x`", "``` ``x` ```"),
        (" a ", "`  a  `"),
        ("two\nlines", "`two lines`"),
        ("  ", "  "),
        ("x" * 600, "x" * 600),
    ],
)
def test_given_code_then_it_has_the_backticks_that_it_needs(code: str, span: str) -> None:
    assert code_span(code) == span


@given(st.text("`` ab.[1]", min_size=1, max_size=60))
def test_a_span_holds_its_code_exactly_and_is_one_for_the_filter_of_answers(code: str) -> None:
    span = code_span(code)
    assert without_spans(span) == code or span == code
    if span != code:
        assert span_end(span + " x", 0, final=True) == len(span)
        assert list(by_code(span)) == [(span, True)]


@given(st.text("` ab\n", max_size=60))
def test_the_parts_of_a_text_make_it_up(text: str) -> None:
    assert "".join(part for part, _ in by_code(text)) == text


def test_what_is_searched_has_no_marks_but_code_blocks_keep_theirs() -> None:
    text = "Set `hl[14]` and ``a`b``.\n\necho `date`"
    blocks = [BlockSpan("paragraph", 0, 25), BlockSpan("code", 27, 38)]
    chunk = Chunk(
        "c", "d", 1, 0, text, "", "/a.md", "t", "c", 0, len(text), layout=encode_blocks(blocks)
    )
    assert chunk.searchable == "Set hl[14] and a`b.\n\necho `date`"


def test_a_chunk_without_blocks_is_searched_as_it_is() -> None:
    chunk = Chunk("c", "d", 1, 0, "Set `x`.", "", "/a.md", "t", "c", 0, 8)
    assert chunk.searchable == "Set `x`."
