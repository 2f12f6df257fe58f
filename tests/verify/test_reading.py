"""Verdicts by rules and a reader together see who did what, where words are shared."""

from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from ragstone.ports import Claim, EvidenceSource, Pair, PairReading, Support
from ragstone.reader.local import LocalReader
from ragstone.verify.groundedness import SUPPORTED
from ragstone.verify.reading import ReadingChecker, together
from ragstone.verify.verdict import QUOTED, LocalChecker

pytestmark = pytest.mark.asyncio(loop_scope="module")

PUMPS = EvidenceSource(
    "The Falcon pump is built in Bergen and weighs 31 kg. The Heron pump is made by Aquanor AS."
)
YES_NO = ("Yes.", "No.")
NOTICE = EvidenceSource(
    "During probation the notice period is 14 days. Afterwards it is three months."
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def checker() -> AsyncIterator[ReadingChecker]:
    reader = LocalReader()
    yield ReadingChecker(LocalChecker(), reader)
    await reader.aclose()


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
    ],
)
async def test_given_the_same_words_in_another_role_then_the_claim_is_not_supported(
    checker: ReadingChecker, source: EvidenceSource, true: str, false: str
) -> None:
    right, wrong = await checker.support([Claim(true), Claim(false)], [source], None)
    assert right.probability >= SUPPORTED > wrong.probability


async def test_given_a_quotation_then_it_is_supported_without_being_read() -> None:
    checker = ReadingChecker(LocalChecker(), Scripted(PairReading(contradicted=1.0)))
    [found] = await checker.support([Claim(PUMPS.text[53:])], [PUMPS], None)
    assert found.probability == QUOTED


async def test_given_a_claim_that_the_reader_contradicts_then_the_verdict_says_so() -> None:
    checker = ReadingChecker(LocalChecker(), Scripted(PairReading(contradicted=0.98)))
    [found] = await checker.support([Claim("Aquanor AS makes Falcon pumps.")], [PUMPS], None)
    assert found.probability < SUPPORTED
    assert found.conflict == "statement"


async def test_given_a_number_that_no_source_states_then_no_reader_makes_it_supported() -> None:
    checker = ReadingChecker(LocalChecker(), Scripted(PairReading(supported=1.0)))
    [found] = await checker.support([Claim("The notice period is 45 days.")], [NOTICE], None)
    assert found.probability < SUPPORTED


async def test_given_what_the_reader_cannot_read_then_the_rules_decide() -> None:
    by_rules = Support(0.7, 0, 0, 10)
    unreadable = PairReading(not_said=1.0, readable=False)
    assert together(Claim("It is."), by_rules, unreadable, 100) == by_rules


async def test_given_a_claim_in_no_known_script_then_it_is_not_supported(
    checker: ReadingChecker,
) -> None:
    [found] = await checker.support([Claim("𒀀𒀁𒀂𒀃𒀄𒀅 𒀆𒀇𒀈𒀉")], [PUMPS], None)
    assert found.probability < SUPPORTED


class Scripted:
    """A reader that says the same of everything."""

    def __init__(self, said: PairReading) -> None:
        self._said = said

    async def read(self, pairs: Sequence[Pair]) -> list[PairReading]:
        return [self._said] * len(pairs)

    async def aclose(self) -> None:
        """Nothing to free."""


async def test_given_a_pronoun_then_what_is_said_of_it_is_weighed_and_not_of_whom(
    checker: ReadingChecker,
) -> None:
    source = EvidenceSource(
        "The Lantern 3 runs on a battery. A full charge lasts 31 days without sun at 20 degrees, "
        "and 19 days at minus 20 degrees. Below minus 30 degrees it shows fault code E14."
    )
    said, unsaid, nothing = await checker.support(
        [Claim("It lasts 31 days."), Claim("It lasts 42 days."), Claim("It was sold in Paris.")],
        [source],
        None,
    )
    assert said.probability >= SUPPORTED
    assert max(unsaid.probability, nothing.probability) < SUPPORTED


@pytest.mark.parametrize(
    ("question", "true", "false", "least"),
    [
        ("Is the Heron pump made by Aquanor AS?", "Yes.", "No.", SUPPORTED),
        # The passage says "made by": of other words for it the reader is less sure.
        ("Does the Heron pump come from Aquanor AS?", "Yes.", "No.", 0.0),
    ],
)
async def test_a_yes_or_no_is_read_with_its_question(
    checker: ReadingChecker, question: str, true: str, false: str, least: float
) -> None:
    claims = [Claim(f"{question} {word}", by_words=False) for word in (true, false)]
    right, wrong = await checker.support(claims, [PUMPS], None)
    assert right.probability > wrong.probability
    assert right.probability >= least
    assert wrong.probability < SUPPORTED


async def test_words_tell_nothing_of_a_yes_or_no() -> None:
    claims = [Claim(f"Is the Heron pump made by Aquanor AS? {w}", by_words=False) for w in YES_NO]
    found = await LocalChecker().support(claims, [PUMPS], None)
    assert [(one.probability, one.conflict, one.source) for one in found] == [(0.5, "", 0)] * 2
