"""Where the blocks of a document stand, in the document and in its parts."""

from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.document import (
    BlockSpan,
    Box,
    Place,
    cut_blocks,
    decode_blocks,
    encode_blocks,
    find_page,
)

FIRST = BlockSpan("heading", 0, 10, 1, "", (Place(0, 1, Box(10, 20, 60, 30)),))
OVER_A_PAGE = BlockSpan(
    "paragraph", 12, 40, places=(Place(12, 1, Box(10, 700, 90, 712)), Place(25, 2))
)
ITEM = BlockSpan("item", 42, 60, 1, "2.", (Place(42, 2, Box(1, 2, 3, 4)),))
BLOCKS = (FIRST, OVER_A_PAGE, ITEM)


def test_each_character_has_the_page_it_stands_on() -> None:
    assert [find_page(BLOCKS, at) for at in (0, 12, 24, 25, 41, 59)] == [1, 1, 1, 2, 2, 2]
    assert find_page((BlockSpan("code", 0, 5),), 3) is None


def test_a_part_counts_anew_and_keeps_its_pages() -> None:
    part = cut_blocks(BLOCKS, 30, 50)
    assert [(item.kind, item.start, item.end) for item in part] == [
        ("paragraph", 0, 10),
        ("item", 12, 20),
    ]
    assert [place.page for item in part for place in item.places] == [2, 2]
    assert find_page(part, 0) == 2


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 20))
def test_every_part_says_the_same_pages(start: int, end: int, shift: int) -> None:
    part = cut_blocks(BLOCKS, start, end, shift)
    for block in part:
        assert shift <= block.start < block.end <= shift + max(0, end - start)
        for at in range(block.start, block.end):
            assert find_page(part, at) == find_page(BLOCKS, at - shift + start)


def test_an_index_gives_back_what_it_got() -> None:
    assert decode_blocks(encode_blocks(BLOCKS)) == BLOCKS
    assert decode_blocks(encode_blocks(())) == ()
    part = cut_blocks(BLOCKS, 27, 60, 3)
    assert decode_blocks(encode_blocks(part)) == part
