"""The local check of claims against sources: who did what, where words are shared."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ragstone.core.document import BlockSpan
from ragstone.language.sentences import sentences
from ragstone.ports import Claim, EvidenceSource, Pair, PairReading, Support
from ragstone.verify.checker import QUOTED, REACH, ReadingChecker
from ragstone.verify.groundedness import MIN_SUPPORT
from tests.local_checker import local_checker

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
VERBATIM = [item.text[s.start : s.end] for item in SOURCES for s in sentences(item.text)]
PUMPS = EvidenceSource(
    "The Falcon pump is built in Bergen and weighs 31 kg. The Heron pump is made by Aquanor AS."
)
NOTICE = EvidenceSource(
    "The notice period is 30 days for all employees. "
    "During probation the notice period is 14 days for both sides."
)


class Scripted:
    """A reader that says of each passage what belongs to a word of it."""

    def __init__(self, **said: PairReading) -> None:
        self._said = said
        self.passages: list[str] = []

    async def read(self, pairs: Sequence[Pair]) -> list[PairReading]:
        self.passages += [pair.passage for pair in pairs]
        return [
            next((r for word, r in self._said.items() if word in pair.passage), PairReading())
            for pair in pairs
        ]

    async def aclose(self) -> None:
        """Nothing to free."""


def check(claim: str, *sources: EvidenceSource) -> Support:
    [found] = asyncio.run(local_checker().support([Claim(claim)], sources))
    return found


def likely(claim: str, source: EvidenceSource) -> float:
    return check(claim, source).probability


@pytest.mark.parametrize("sentence", VERBATIM)
def test_given_a_sentence_of_a_source_then_it_is_supported_by_exactly_that(sentence: str) -> None:
    found = check(sentence, *SOURCES)
    assert found.probability == QUOTED
    assert found.source is not None
    assert SOURCES[found.source].text[found.start : found.end] == sentence


WORDS = ["bridge", "river", "engine", "market", "paper", "seven", "12", "Anna", "not"]


@given(st.lists(st.sampled_from(WORDS), min_size=4))
def test_any_quotation_is_supported(words: list[str]) -> None:
    assume(len(set(words)) > 2)
    sentence = f"The {' '.join(words)} here."
    assert check(sentence, EvidenceSource(f"It rains. {sentence} It snows.")).probability == QUOTED


@pytest.mark.parametrize(
    ("source", "true", "false"),
    [
        (PUMPS, "Aquanor AS makes the Heron pump.", "The Falcon pump is made by Aquanor AS."),
        (
            NOTICE,
            "The notice period during probation is 14 days.",
            "The notice period during probation is 30 days.",
        ),
        (
            EvidenceSource("Der Vertrag endet am 31. März. Er wurde von Frau Roth unterschrieben."),
            "Frau Roth hat den Vertrag unterschrieben.",
            "Herr Adler hat den Vertrag unterschrieben.",
        ),
        (
            SOURCES[0],
            "Anna Keller built the bridge over the Rhine in 1890.",
            "Peter Weber built the bridge over the Rhine in 1890.",
        ),
        (SOURCES[0], "The bridge carries 4500 cars a day.", "The bridge carries 7500 cars a day."),
        (SOURCES[0], "The bridge has never been closed.", "The bridge has been closed."),
        (SOURCES[4], "La tour a été construite en 1889.", "La tour a été construite en 1899."),
        (
            EvidenceSource("该服务的最小副本数为 2,最大副本数为 10。"),
            "最小副本数为 2。",
            "最小副本数为 10。",
        ),
        (SOURCES[1], "The city library opens at 9 o'clock.", "The city library opens at 11."),
    ],
)
def test_given_the_same_words_in_another_role_then_the_claim_is_not_supported(
    source: EvidenceSource, true: str, false: str
) -> None:
    assert likely(true, source) >= MIN_SUPPORT > likely(false, source)


@pytest.mark.parametrize(
    "claim",
    [
        "Bananas are rich in potassium.",
        "The bridge was painted green by Peter Weber in 1950.",
        "The company has 2,200 employees on parental leave.",
        "𒀀𒀁𒀂𒀃𒀄𒀅 𒀆𒀇𒀈𒀉",
    ],
)
def test_given_what_no_source_says_then_it_is_not_supported(claim: str) -> None:
    assert check(claim, *SOURCES).probability < MIN_SUPPORT


def test_given_a_changed_quotation_then_it_is_contradicted() -> None:
    changed = "The old bridge over the Rhine was built in 1791 by the engineer Anna Keller."
    assert check(changed, *SOURCES).contradicted


def test_a_claim_is_read_beside_each_source_that_it_cites() -> None:
    said = PairReading(supported=0.9)
    reader = Scripted(Aquanor=said)
    near = EvidenceSource("The Heron pump is popular with farmers.")
    claim = Claim("Aquanor makes the Heron pump popular.", (0,))

    [found] = asyncio.run(ReadingChecker(reader).support([claim], [near, PUMPS]))

    assert len(reader.passages) == 2
    assert found.source == 1
    assert PUMPS.text[found.start : found.end] == "The Heron pump is made by Aquanor AS."


def test_given_equal_sentences_then_the_cited_source_is_the_one() -> None:
    twice = [
        EvidenceSource("The market near the river opens early."),
        EvidenceSource("The market opens early."),
    ]
    claim = Claim("The market opens early, before seven.", (1,))
    [found] = asyncio.run(ReadingChecker(Scripted()).support([claim], twice))
    assert found.source == 1


def test_given_another_language_then_the_sentence_that_supports_is_found_in_the_whole() -> None:
    filler = "Das Wetter war an diesem Tag sehr schön. " * (2 * REACH // 40)
    text = f"{filler}Eine Frau baute einst eine Brücke. {filler}"
    reader = Scripted(Frau=PairReading(supported=0.9))

    [found] = asyncio.run(
        ReadingChecker(reader).support(
            [Claim("A woman constructed it long ago.")], [EvidenceSource(text)]
        )
    )

    assert found.probability >= MIN_SUPPORT
    assert text[found.start : found.end] == "Eine Frau baute einst eine Brücke."


def test_an_item_is_read_and_quoted_with_the_line_that_introduces_its_list() -> None:
    text = "- theft of luggage\n- damage to rented skis"
    blocks = (
        BlockSpan("item", 0, 18, 1, "- ", lead="The following are not covered:"),
        BlockSpan("item", 19, len(text), 1, "- ", lead="The following are not covered:"),
    )
    claims = [
        Claim("Damage to rented skis is covered."),
        Claim("The following are not covered: damage to rented skis"),
    ]
    reader = Scripted()

    found = asyncio.run(
        ReadingChecker(reader).support(claims, [EvidenceSource(text, blocks=blocks)])
    )

    assert reader.passages[0].startswith("The following are not covered:")
    assert found[1].probability == QUOTED


def test_what_the_reader_cannot_read_is_not_supported() -> None:
    reader = Scripted(pump=PairReading(supported=0.9, readable=False))
    [found] = asyncio.run(ReadingChecker(reader).support([Claim("The pump is heavy.")], [PUMPS]))
    assert found.probability < MIN_SUPPORT


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("\ue041\ue042\ue043 \ue044\ue045\ue046 \ue047\ue048.", "\ue041\ue042\ue043 \ue049."),
        ("ߒߞߏ ߦߋ߫ ߞߊ߲ ߘߏ߫ ߟߋ߬ ߘߌ߫.", "ߒߞߏ ߦߋ߫ ߞߊ߲ ߘߏ߫ ߟߋ߬ ߘߌ߫ ߓߊߡߊߞߐ߫."),
        ("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ᎣᏍᏓ ᎢᎦ.", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ᎣᏍᏓ ᎢᎦ ᏙᎯᏧ."),
    ],
)
def test_a_script_that_the_reader_does_not_know_supports_only_what_it_says_itself(
    source: str, claim: str
) -> None:
    assert likely(claim, EvidenceSource(source)) < MIN_SUPPORT
    assert likely(source, EvidenceSource(source)) == QUOTED


def test_of_a_source_that_is_read_whole_words_decide_nothing() -> None:
    reading = PairReading(supported=0.2, contradicted=0.7)
    claims = [Claim("The pump is heavy."), Claim("The Falcon pump of Bergen weighs much.")]

    few, many = asyncio.run(ReadingChecker(Scripted(pump=reading)).support(claims, [PUMPS]))

    assert few.probability == many.probability < MIN_SUPPORT
    assert few.contradicted


@pytest.mark.parametrize(("surely", "is_told"), [(0.95, True), (0.6, False)])
def test_that_a_source_surely_says_otherwise_is_told_whichever_supports_most(
    surely: float, is_told: bool
) -> None:
    near, other = EvidenceSource("The pump weighs 9 kg."), EvidenceSource("A pump and its weight.")
    reader = Scripted(
        kg=PairReading(supported=0.02, contradicted=surely),
        its=PairReading(supported=0.3, not_said=0.7),
    )
    claim = Claim("The pump weighs 7 kg.", (0, 1))

    [found] = asyncio.run(ReadingChecker(reader).support([claim], [near, other]))

    assert found.source == 1
    assert bool(found.contradicted) is is_told


def test_given_a_pronoun_then_what_is_said_of_it_is_weighed() -> None:
    source = EvidenceSource(
        "The Lantern 3 runs on a battery. A full charge lasts 31 days without sun at 20 degrees, "
        "and 19 days at minus 20 degrees. Below minus 30 degrees it shows fault code E14."
    )
    assert likely("It lasts 31 days.", source) >= MIN_SUPPORT
    assert likely("It lasts 42 days.", source) < MIN_SUPPORT
    assert likely("It was sold in Paris.", source) < MIN_SUPPORT


@pytest.mark.parametrize(("word", "supported"), [("Yes.", True), ("No.", False)])
def test_a_yes_or_no_is_read_with_its_question(word: str, supported: bool) -> None:
    found = likely(f"Is the Heron pump made by Aquanor AS? {word}", PUMPS)
    assert (found >= MIN_SUPPORT) == supported


def test_given_nothing_then_nothing_is_supported() -> None:
    assert check("Anything at all.").probability < MIN_SUPPORT
    assert check("", *SOURCES).probability < MIN_SUPPORT
    assert check("Anything at all.", EvidenceSource(" " * 3 * REACH)).probability < MIN_SUPPORT
    assert asyncio.run(local_checker().support([], SOURCES)) == []


@given(st.text(max_size=150), st.lists(st.text(max_size=150), max_size=3))
def test_any_texts_can_be_compared(claim: str, sources: list[str]) -> None:
    found = check(claim, *(EvidenceSource(text) for text in sources))
    assert 0 <= found.probability <= 1
    if found.source is not None:
        assert 0 <= found.start <= found.end <= len(sources[found.source])
