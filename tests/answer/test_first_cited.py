"""Numbers by first citation: the same in pieces and whole, and places still mean the same."""

import re
from collections.abc import AsyncGenerator
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.first_cited import FirstCited, by_first_citation, cited_numbers, number_sources
from ragstone.core.answer import Citation, GeneratedAnswer, Verdict
from ragstone.core.events import Done, Event, Sources, Token
from ragstone.core.turn import Ask, Hit, Passage, Turn
from tests.chunks import chunk

PIECES = [
    "A [3]. ",
    "[12]",
    "B [1][2] ",
    "`a[3]`",
    "```\nx[1]\n```\n",
    "[",
    "3",
    "]",
    "`",
    "\n",
    "[7]",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
PASSAGES = tuple(Passage(n, f"text {n}", Hit(chunk(n), 1 / n)) for n in range(1, 13))


def citation(number: int) -> Citation:
    return Citation(number, f"d{number}", f"c{number}", "", "", None, (), 0, 1, "", 0.5)


def turn(text: str, *cited: int, **fields: object) -> Turn:
    answer = GeneratedAnswer(text, tuple(map(citation, cited)), used=tuple(cited))
    return replace(Turn(Ask("?"), passages=PASSAGES, answer=answer), **fields)  # type: ignore[arg-type]


def test_sources_are_numbered_in_the_order_in_which_they_are_cited() -> None:
    said = by_first_citation(turn("One [7]. Two [3][7]. Three [12].", 3, 7, 12))
    assert said.answer
    assert said.answer.text == "One [1]. Two [2][1]. Three [3]."
    assert [(item.number, item.chunk_id) for item in said.answer.citations] == [
        (1, "c7"),
        (2, "c3"),
        (3, "c12"),
    ]
    assert [passage.hit.chunk.chunk_id for passage in said.passages][:5] == [
        "c7",
        "c3",
        "c12",
        "c1",
        "c2",
    ]
    assert [passage.number for passage in said.passages] == list(range(1, 13))
    assert cited_numbers(said) == {1, 2, 3}


def test_what_is_only_said_to_be_used_comes_after_what_is_marked() -> None:
    said = by_first_citation(turn("One [7].", 2, 7))
    assert said.answer
    assert [item.chunk_id for item in said.answer.citations] == ["c7", "c2"]
    assert said.answer.used == (2, 1)


def test_code_cites_nothing() -> None:
    said = by_first_citation(turn("`a[3]` is [7]:\n```\nb[2]\n```\n", 7))
    assert said.answer
    assert said.answer.text == "`a[3]` is [1]:\n```\nb[2]\n```\n"


def test_verdicts_stand_where_their_sentences_are() -> None:
    text = "One [12]. Two [3]."
    verdicts = (
        Verdict("One.", "supported", 0.9, citation(12), 0, 9),
        Verdict("Two.", "supported", 0.9, citation(3), 10, 18),
    )
    said = by_first_citation(turn(text, 3, 12, verdicts=verdicts))
    assert said.answer
    shown = [said.answer.text[verdict.start : verdict.end] for verdict in said.verdicts]
    assert shown == ["One [1].", "Two [2]."]
    assert [verdict.citation and verdict.citation.number for verdict in said.verdicts] == [1, 2]


@given(TEXTS, st.lists(st.integers(1, 5), min_size=1))
def test_pieces_give_what_the_whole_gives(text: str, sizes: list[int]) -> None:
    whole, pieces = FirstCited(), FirstCited()
    known = frozenset(range(1, 13))
    whole.may_cite(known)
    pieces.may_cite(known)
    said, at, turn_of = "", 0, 0
    while at < len(text):
        size = sizes[turn_of % len(sizes)]
        said += pieces.feed(text[at : at + size])
        at, turn_of = at + size, turn_of + 1
    said += pieces.end()
    assert said == whole.feed(text) + whole.end()
    assert pieces.new == whole.new


@given(TEXTS)
def test_first_citations_count_from_one_without_a_gap(text: str) -> None:
    said = by_first_citation(turn(text))
    assert said.answer
    again = by_first_citation(replace(turn(said.answer.text)))
    assert again.answer
    assert again.answer.text == said.answer.text
    assert sorted(passage.number for passage in said.passages) == list(range(1, 13))
    assert len({passage.hit.chunk.chunk_id for passage in said.passages}) == 12


async def test_a_stream_says_what_its_end_says() -> None:
    end = turn("It is [12]. Or [3].", 3, 12)

    async def events() -> AsyncGenerator[Event, None]:
        yield Sources(PASSAGES)
        for piece in ("It is", " [1", "2]. Or ", "[3]", "."):
            yield Token(piece)
        yield Done(end)

    found = [event async for event in number_sources(events())]
    said = "".join(event.text for event in found if isinstance(event, Token))
    last = found[-1]
    assert isinstance(last, Done)
    assert last.turn.answer
    assert last.turn.answer.text == said == "It is [1]. Or [2]."
    assert not re.search(r"\[(12|3)\]", said)
