"""The local check of claims against sources."""

import asyncio
import re
from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ragstone.language.sentences import sentences
from ragstone.ports import Claim, Embedder, EvidenceSource, Support, Vectors
from ragstone.verify.groundedness import SUPPORTED
from ragstone.verify.verdict import LocalChecker

SOURCES = [
    EvidenceSource(
        "The old bridge over the Rhine was built in 1890 by the engineer Anna Keller. "
        "It is 320 metres long and carries 4,500 cars a day. It has never been closed.",
        "Bridges of Basel",
    ),
    EvidenceSource("Die Stadtbibliothek öffnet um 9 Uhr. Im Jahr 2021 kamen 120.000 Besucher."),
    EvidenceSource("故宫位于北京市中心，建于1420年。它有9000多个房间。"),
    EvidenceSource("서울은 대한민국의 수도이다. 인구는 약 940만 명이다."),
    EvidenceSource("La tour mesure 330 mètres et a été construite en 1889."),
    EvidenceSource("El museo abrió sus puertas en 1819 y recibe tres millones de visitantes."),
    EvidenceSource("富士山は日本で最も高い山です。標高は3776メートルです。"),
]
VERBATIM = [one.text[s.start : s.end] for one in SOURCES for s in sentences(one.text)]


def checked(claim: str, sources: list[EvidenceSource] | None = None) -> Support:
    given_ = SOURCES if sources is None else sources
    [found] = asyncio.run(LocalChecker().support([Claim(claim)], given_, None))
    return found


@pytest.mark.parametrize("sentence", VERBATIM)
def test_given_a_sentence_of_a_source_then_it_is_supported_by_exactly_that(sentence: str) -> None:
    found = checked(sentence)
    assert found.probability > 0.8
    assert found.source is not None
    assert SOURCES[found.source].text[found.start : found.end] == sentence


@pytest.mark.parametrize("sentence", [one for one in VERBATIM if re.search(r"\d", one)])
@given(data=st.data())
@settings(max_examples=8)
def test_given_another_number_in_it_then_it_is_not(sentence: str, data: st.DataObject) -> None:
    places = [m.start() for m in re.finditer(r"\d", sentence)]
    place = data.draw(st.sampled_from(places))
    digit = data.draw(st.sampled_from([d for d in "123456789" if d != sentence[place]]))
    found = checked(sentence[:place] + digit + sentence[place + 1 :])
    assert found.probability < SUPPORTED


@pytest.mark.parametrize(
    "claim",
    [
        "The old bridge over the Danube was built in 1890 by the engineer Anna Keller.",
        "The old bridge over the Rhine was not built in 1890 by the engineer Anna Keller.",
        "It has been closed.",
        "Bananas are rich in potassium.",
        "The bridge was painted green by Peter Weber in 1950.",
    ],
)
def test_given_what_no_source_says_then_it_is_not_supported(claim: str) -> None:
    assert checked(claim).probability < SUPPORTED


@pytest.mark.parametrize(
    "claim",
    [
        "Anna Keller built the bridge over the Rhine in 1890.",
        "The Rhine bridge is 320 metres long.",
        "The bridge carries 4500 cars a day.",
        "La tour a été construite en 1889.",
    ],
)
def test_given_it_in_other_words_then_it_is_supported(claim: str) -> None:
    assert checked(claim).probability >= SUPPORTED


def test_given_a_changed_quotation_then_the_conflict_is_named() -> None:
    changed = "The old bridge over the Rhine was built in 1891 by the engineer Anna Keller."
    assert checked(changed).conflict == "number"
    assert checked(changed.replace("1891", "1890").replace("was", "was not")).conflict == "negation"


def test_given_the_beginning_of_a_sentence_then_what_it_negates_later_is_no_conflict() -> None:
    source = EvidenceSource(
        "a) You may copy the work, in whole or in part, for a fee but not for profit."
    )
    begun, turned = (
        Claim("You may copy the work, in whole or in part, for a fee,"),
        Claim("You may not copy the work, in whole or in part, for a fee but for a profit."),
    )
    found, other = asyncio.run(LocalChecker().support([begun, turned], [source], None))
    assert (found.conflict, found.probability >= SUPPORTED) == ("", True)
    assert not other.probability >= SUPPORTED


def test_given_the_beginning_of_a_sentence_then_its_number_must_be_whole() -> None:
    source = EvidenceSource("The bridge over the old river near the town cost 5 million francs.")
    [found] = asyncio.run(
        LocalChecker().support(
            [Claim("The bridge over the old river near the town cost 5")], [source], None
        )
    )
    assert found.conflict == "number"


def test_given_equal_sentences_then_the_cited_source_is_the_one() -> None:
    twice = [
        EvidenceSource("The market near the river opens early."),
        EvidenceSource("The market opens early."),
    ]
    claim = Claim("The market opens very early.", (1,))
    [found] = asyncio.run(LocalChecker().support([claim], twice, None))
    assert found.source == 1


def test_given_nothing_then_nothing_is_supported() -> None:
    assert checked("Anything at all.", []).probability < SUPPORTED
    assert checked("", SOURCES).source is None
    assert asyncio.run(LocalChecker().support([], SOURCES, None)) == []


@given(st.text(max_size=150), st.lists(st.text(max_size=150), max_size=3))
def test_any_texts_can_be_compared(claim: str, sources: list[str]) -> None:
    found = checked(claim, [EvidenceSource(text) for text in sources])
    assert 0 <= found.probability <= 1
    if found.source is not None:
        assert 0 <= found.start <= found.end <= len(sources[found.source])


WORDS = ["bridge", "river", "engine", "market", "paper", "seven", "12", "Anna", "not"]


@given(st.lists(st.sampled_from(WORDS), min_size=4))
def test_any_quotation_is_supported(words: list[str]) -> None:
    assume(len(set(words)) > 2)
    sentence = f"The {' '.join(words)} here."
    assert checked(sentence, [EvidenceSource(f"It rains. {sentence} It snows.")]).probability > 0.8


class Bilingual:
    """A multilingual embedder that knows which texts mean the same."""

    multilingual = True
    cosines = (0.0, 1.0)

    def __init__(self, *alike: str) -> None:
        self._alike = alike

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        rows = [[1.0, 0.0] if text in self._alike else [0.0, 1.0] for text in texts]
        return np.array(rows, np.float32)


GERMAN = "Die Brücke über den großen Fluss wurde vor langer Zeit von einer Frau gebaut."
ENGLISH = "A woman constructed it across that wide stream a long while ago."


async def test_given_another_language_then_meanings_are_compared() -> None:
    embedder = cast(Embedder, Bilingual(GERMAN, ENGLISH))
    sources = [
        EvidenceSource("The weather was nice that day. It rained in the evening."),
        EvidenceSource(ENGLISH),
    ]
    [found] = await LocalChecker().support([Claim(GERMAN)], sources, embedder)
    assert found.probability > 0.8
    assert (found.source, found.start, found.end) == (1, 0, len(ENGLISH))
    [found] = await LocalChecker().support([Claim(GERMAN)], sources[:1], embedder)
    assert found.probability < 0.3


async def test_given_another_language_and_another_number_then_it_is_not_supported() -> None:
    claim = GERMAN.replace("vor langer Zeit", "im Jahr 1777")
    embedder = cast(Embedder, Bilingual(claim, ENGLISH))
    [found] = await LocalChecker().support([Claim(claim)], [EvidenceSource(ENGLISH)], embedder)
    assert found.probability < SUPPORTED


NOTICE = [
    EvidenceSource(
        "The notice period is 30 days for all employees. "
        "During probation the notice period is 14 days for both sides."
    ),
    EvidenceSource("2.2 Parental leave\n\nParental leave is paid for 30 weeks."),
]


def test_given_a_number_of_another_sentence_then_it_does_not_support() -> None:
    found = checked("The notice period during probation is 30 days.", NOTICE)
    assert found.probability < SUPPORTED
    assert found.conflict == "number"


def test_given_the_same_time_in_another_unit_then_it_is_supported() -> None:
    found = checked("The notice period during probation is two weeks.", NOTICE)
    assert found.probability >= SUPPORTED
    assert not found.conflict


def test_given_the_number_of_a_heading_then_it_does_not_support() -> None:
    found = checked("The company has 2,200 employees on parental leave.", NOTICE)
    assert found.probability < SUPPORTED
