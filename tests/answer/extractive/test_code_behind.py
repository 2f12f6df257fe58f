"""Questions of how something is done are answered with the code that shows it."""

from collections.abc import Sequence

import pytest

from ragstone.core.document import BlockKind, BlockSpan, encode_blocks
from ragstone.core.turn import Passage
from tests.answer.extractive.test_extractive import answer, text
from tests.engine.samples import a_passage

Parts = Sequence[tuple[BlockKind, str]]


def manual(number: int, parts: Parts, **changes: int) -> Passage:
    """A passage of blocks, each in a paragraph of its own."""
    blocks: list[BlockSpan] = []
    written = ""
    for kind, part in parts:
        blocks.append(BlockSpan(kind, len(written), len(written) + len(part)))
        written += f"{part}\n\n"
    return a_passage(number, written.rstrip(), layout=encode_blocks(blocks), **changes)


ASKED = "How do I empty the basin?"


async def test_given_how_to_then_what_shows_code_comes_before_what_has_more_words() -> None:
    page = manual(
        1,
        [
            ("paragraph", "You may empty the basin as often as the basin is full."),
            ("heading", "Cleaning"),
            ("paragraph", "The basin is emptied by a command:"),
            ("code", "basin empty --all"),
        ],
    )
    said = text(await answer(ASKED, page))
    assert said.startswith("The basin is emptied by a command: [1]\n```\nbasin empty --all\n```")
    assert not text(await answer("Why is the basin full?", page)).startswith("The basin is emptied")


async def test_given_code_at_the_end_of_the_sentences_paragraph_then_it_is_said() -> None:
    page = manual(
        1,
        [
            ("paragraph", "To empty the basin, name it twice. Here is one of them:"),
            ("code", "drain one one"),
            ("paragraph", "Take care."),
        ],
    )
    assert "```\ndrain one one\n```" in text(await answer(ASKED, page))


@pytest.mark.parametrize(("index", "shown"), [(1, True), (2, False)])
async def test_given_code_at_the_beginning_of_the_next_chunk_then_it_is_said(
    index: int, shown: bool
) -> None:
    page = manual(1, [("paragraph", "You can empty the basin yourself.")])
    start = page.hit.chunk.end + 2
    following = manual(2, [("code", "drain one one")], chunk_index=index, start=start)
    assert ("drain one one" in text(await answer(ASKED, page, following))) == shown


async def test_given_a_sentence_that_leans_on_the_code_before_it_then_that_is_said() -> None:
    page = manual(
        1,
        [
            ("code", "drain one one"),
            ("paragraph", "This will empty the basin."),
            ("code", "drain two"),
            ("paragraph", "Other things are emptied so."),
        ],
    )
    assert "```\ndrain one one\n```" in text(await answer(ASKED, page))


async def test_given_code_alone_and_with_its_sentence_elsewhere_then_it_is_said_once() -> None:
    alone = manual(1, [("heading", "Empty the basin"), ("code", "basin empty --all")])
    told = manual(
        2, [("paragraph", "The basin is emptied by a command:"), ("code", "basin empty --all")]
    )
    said = text(await answer(ASKED, alone, told))
    assert said.count("basin empty --all") == 1
    assert "The basin is emptied by a command:" in said
