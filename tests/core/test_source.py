"""Sources of answers and searches."""

from dataclasses import fields, replace

import pytest

from ragstone.core.answer import Citation, CitedSpan, GeneratedAnswer
from ragstone.core.source import (
    Source,
    citation_sources,
    describe_source,
    hit_sources,
    passage_sources,
    sources,
)
from ragstone.core.turn import Ask, Passage, Turn
from tests.engine.samples import a_hit, a_passage

TEXT = "Ost was built in 1871. It burnt down in 1902."
CITED = Citation(
    2, "d1", "c2", "Ost", "/ost.txt", 4, (), 23, 45, "It burnt down in 1902.", 0.5, 0.7
)


OF_THE_CITATION = ("page", "start", "end", "confidence")


def a_source(path: str = "/a/b.txt", **changes: object) -> Source:
    return replace(hit_sources([a_hit(TEXT, path=path)])[0], **changes)  # type: ignore[arg-type]


def test_given_a_cited_passage_then_its_span_and_otherwise_the_whole_chunk() -> None:
    passages = (a_passage(1, "West is older."), a_passage(2, TEXT, page=3, start=100))
    turn = Turn(
        Ask("q"), passages=passages, answer=GeneratedAnswer("x [2]", (replace(CITED, page=4),))
    )
    first, second = sources(turn)
    assert (first.cited, first.confidence, first.snippet) == (False, None, "West is older.")
    assert (first.start, first.end) == (0, len("West is older."))
    assert (second.cited, second.confidence, second.page) == (True, 0.0, 4)
    assert (second.snippet, second.start, second.end) == ("It burnt down in 1902.", 23, 45)
    assert (second.content, second.text) == (TEXT, TEXT)


def test_given_a_passage_that_was_cut_then_what_was_read_and_what_the_chunk_holds() -> None:
    (source,) = passage_sources([Passage(1, "Ost was built", a_hit(TEXT))])
    assert (source.content, source.text, source.snippet) == ("Ost was built", TEXT, "Ost was built")


def test_given_an_answer_that_is_not_there_yet_then_no_source_is_cited() -> None:
    assert [source.cited for source in sources(Turn(Ask("q"), passages=(a_passage(1, TEXT),)))] == [
        False
    ]


def test_given_several_citations_of_a_source_then_it_is_listed_once_with_the_first() -> None:
    later = replace(CITED, snippet="later")
    listed = citation_sources([CITED, replace(CITED, number=1), later])
    assert [(item.number, item.snippet) for item in listed] == [
        (1, "It burnt down in 1902."),
        (2, "It burnt down in 1902."),
    ]


def test_given_a_citation_then_its_passage_is_shown_where_it_is_known() -> None:
    (known,) = citation_sources(
        [CITED], [a_passage(2, TEXT, metadata={"url": "https://x.example"})]
    )
    assert (known.content, known.url) == (TEXT, "https://x.example")
    (alone,) = citation_sources([CITED])
    assert (alone.content, alone.text, alone.url) == (CITED.snippet, CITED.snippet, None)
    assert (alone.score, alone.similarity, alone.cited) == (0.5, None, True)


def test_given_hits_then_their_numbers_are_their_ranks() -> None:
    found = hit_sources([a_hit("one", 0.9), a_hit("two", 0.8)])
    assert [(item.number, item.text, item.content, item.score) for item in found] == [
        (1, "one", "one", 0.9),
        (2, "two", "two", 0.8),
    ]


def test_what_a_source_shares_with_its_chunk_and_hit_is_theirs() -> None:
    """Every field comes from somewhere: none is left at its default."""
    hit = replace(
        a_hit(TEXT, page=1, section=("a",), kind="table", metadata={"a": 1}, chunk_index=7),
        rerank=0.2,
        similarity=0.3,
    )
    (source,) = passage_sources([Passage(1, TEXT, hit)], [replace(CITED, number=1)])
    for name in (field.name for field in fields(Source)):
        for whole in (hit, hit.chunk):
            if hasattr(whole, name) and name not in OF_THE_CITATION:
                assert getattr(source, name) == getattr(whole, name), name


@pytest.mark.parametrize(
    ("path", "given", "url"),
    [
        ("/a.txt", "https://a.example/b", "https://a.example/b"),
        ("https://a.example/c", "https://a.example/b", "https://a.example/b"),
        ("https://a.example/c", None, "https://a.example/c"),
        ("/a.txt", "javascript:alert(1)", None),
        ("/a.txt", 5, None),
    ],
)
def test_the_address_is_one_of_the_web_or_none(path: str, given: object, url: str | None) -> None:
    assert a_source(path, metadata={"url": given}).url == url


@pytest.mark.parametrize(("path", "name"), [("/a/b.txt", "b.txt"), ("/a/", "a"), ("", "")])
def test_the_name_of_the_file_is_the_last_part_of_the_path(path: str, name: str) -> None:
    assert a_source(path).filename == name


def test_given_several_spans_of_a_source_then_all_are_described() -> None:
    spans = (CitedSpan(0, 21, 4, "Ost was built in 1871."), CitedSpan(23, 45, 4, CITED.snippet))
    for passages in ([], [a_passage(2, TEXT)]):
        (one,) = citation_sources([replace(CITED, spans=spans)], passages)
        assert describe_source(one)["spans"] == [
            {"start": 0, "end": 21, "page": 4, "snippet": "Ost was built in 1871."},
            {"start": 23, "end": 45, "page": 4, "snippet": CITED.snippet},
        ]
    assert describe_source(hit_sources([a_hit(TEXT)])[0])["spans"] == []
