"""Whether two sentences of different passages disagree on the same thing."""

from dataclasses import replace

import pytest

from ragstone.core.turn import Passage
from ragstone.verify.sufficiency import PassageSentence, find_disagreement
from tests.engine.samples import a_passage
from tests.local_checker import local_checker


def titled(passage: Passage, title: str) -> Passage:
    chunk = replace(passage.hit.chunk, title=title)
    return replace(passage, hit=replace(passage.hit, chunk=chunk))


async def conflict(sentence: str, other: str, *titles: str) -> bool:
    first, second = a_passage(1, sentence), a_passage(2, other, document_id="d2")
    if titles:
        first, second = titled(first, titles[0]), titled(second, titles[1])
    pairs = [(PassageSentence(sentence, first), PassageSentence(other, second))]
    return await find_disagreement(pairs, local_checker()) is not None


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        ("The lighthouse of Ost is 34 metres high.", "The lighthouse of Ost is 43 metres high."),
        ("The notice period is 14 days.", "The notice period is 30 days."),
        ("The Heron pump was founded in 1987.", "The Heron pump was founded in 1989."),
        ("Revenue was 48.6 million euros in 2024.", "Revenue was 46.8 million euros in 2024."),
        ("Visitors may bring dogs into the hall.", "Visitors may not bring dogs into the hall."),
    ],
)
async def test_given_another_value_of_the_same_then_it_is_a_conflict(
    sentence: str, other: str
) -> None:
    assert await conflict(sentence, other)


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        (
            "Revenue was 48.6 million euros in 2024, after 43.1 million euros in 2023.",
            "For 2025 the board expects revenue of 51 to 53 million euros.",
        ),
        ("Revenue was 48.6 million euros in 2024.", "Revenue was 43.1 million euros in 2023."),
        (
            "part: HJ-2; name: Heating jacket; fits: Lantern 3; price_eur: 89.00",
            "part: SP-30; name: Solar panel 30 W; fits: Lantern 3; price_eur: 134.00",
        ),
        ("The notice period is 14 days.", "The notice period is two weeks."),
        ("Calibrate the barometer every 12 months.", "The humidity sensor lasts 6 months."),
    ],
)
async def test_given_something_else_with_another_number_then_it_is_none(
    sentence: str, other: str
) -> None:
    assert not await conflict(sentence, other)


@pytest.mark.parametrize(
    "titles",
    [
        ("Tern 300 manual", "Tern 500 manual"),
        ("Travel policy 2023", "Travel policy 2024"),
        ("Handbook of the Aldmere library", "Handbook of the Corvin library"),
    ],
)
async def test_given_documents_of_two_subjects_then_they_do_not_conflict(
    titles: tuple[str, str],
) -> None:
    pair = [f"The pump has a warranty of {n} months from delivery." for n in (24, 36)]
    assert await conflict(*pair)
    assert not await conflict(*pair, *titles)
