"""A comparison is answered with what is said of each of the two."""

import pytest

from ragstone.answer.extractive.extractive import Extractive
from ragstone.core.answer import Instructions
from ragstone.core.turn import Ask, Passage
from tests.answer.extractive.test_extractive import no_tokens
from tests.engine.samples import a_passage

TERN_200 = a_passage(1, "The Tern 200 has a noise level of 39 decibels at full speed. It is white.")
TERN_400 = a_passage(2, "The Tern 400 has a noise level of 48 decibels at full speed. It is grey.")
BOTH = a_passage(3, "At full speed the Tern 200 has 39 decibels and the Tern 400 has 48 decibels.")


async def said(question: str, *passages: Passage) -> str:
    answers = Extractive(no_tokens).answer(Ask(question), passages, Instructions("", ""))
    return "".join([answer.text async for answer in answers])


@pytest.mark.parametrize("passages", [(TERN_200, TERN_400), (TERN_400, TERN_200)])
async def test_given_two_things_in_two_places_then_both_are_said_in_order(
    passages: tuple[Passage, ...],
) -> None:
    answer = await said("Which is louder at full speed, the Tern 200 or the Tern 400?", *passages)
    assert answer == (
        "The Tern 200 has a noise level of 39 decibels at full speed. [1]\n"
        "The Tern 400 has a noise level of 48 decibels at full speed. [2]"
    )


async def test_given_a_sentence_about_both_then_it_is_the_answer() -> None:
    question = "Which is louder at full speed, the Tern 200 or the Tern 400?"
    assert (await said(question, BOTH, TERN_200)).startswith("At full speed the Tern 200 has 39")


async def test_given_nothing_about_one_of_them_then_what_there_is() -> None:
    answer = await said("Which is louder, the Tern 200 or the Heron 9?", TERN_200)
    assert "Heron" not in answer
    assert "39 decibels" in answer


async def test_given_two_documents_then_what_is_compared_is_said_of_each() -> None:
    texts = {
        2021: "Valid from 1 March 2021. The deposit is 50 euros.",
        2024: "Valid from 1 March 2024. The deposit is 80 euros.",
    }
    passages = [
        a_passage(number, text, title="Rental", path=f"/rental-{year}.md", document_id=str(year))
        for number, (year, text) in enumerate(texts.items(), start=1)
    ]

    answer = await said("Compare the deposit in 2021 and 2024.", *passages)

    assert answer == (
        "Rental (2021-03-01): The deposit is 50 euros. [1]\n"
        "Rental (2024-03-01): The deposit is 80 euros. [2]"
    )
