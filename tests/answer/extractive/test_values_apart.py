"""Where sources say otherwise of the same thing, the answer says so, or says the wanted one."""

from collections.abc import Sequence

import pytest

from ragstone.answer.extractive.extractive import Extractive
from ragstone.core.answer import Instructions
from ragstone.core.turn import Ask, Passage
from ragstone.language.markers import citation_numbers
from ragstone.ports import Pair, PairReading
from tests.answer.extractive.test_extractive import no_tokens
from tests.engine.samples import a_passage


class Reader:
    """Finds that claims with other numbers contradict each other."""

    async def read(self, pairs: Sequence[Pair]) -> list[PairReading]:
        return [
            PairReading(answers=0.9, contradicted=0.0 if pair.question else 0.9) for pair in pairs
        ]

    async def aclose(self) -> None:
        return None


async def answer(question: str, *passages: Passage) -> str:
    answerer = Extractive(no_tokens, reader=Reader())
    stream = answerer.answer(Ask(question), passages, Instructions("", ""))
    return "".join([said.text async for said in stream])


def make_passages(texts: dict[str, str]) -> list[Passage]:
    return [
        a_passage(number, text, path=path, document_id=path, title=path.strip("/").split(".")[0])
        for number, (path, text) in enumerate(texts.items(), start=1)
    ]


SHOP, CATALOGUE = "The W50 pump costs 1,999 euros.", "The W50 pump costs 2,199 euros."


async def test_two_sources_that_disagree_are_both_said_with_what_they_are() -> None:
    passages = make_passages({"/shop.md": SHOP, "/catalogue 2025-03-01.md": CATALOGUE})

    said = await answer("What does the W50 pump cost?", *passages)

    assert said == (
        "The sources disagree:\n"
        f"shop: {SHOP} [1]\n"
        f"catalogue 2025-03-01 (2025-03-01): {CATALOGUE} [2]"
    )


@pytest.mark.parametrize(
    ("question", "first", "second", "opening"),
    [
        ("Was kostet die Pumpe W50?", "Die Pumpe W50 kostet 1999 Euro.", "2199", "Die Quellen"),
        ("W50 水泵的价格是多少？", "W50 水泵的价格是 1999 元。", "2199", "资料说法不一"),
        ("Combien coûte la pompe W50 ?", "La pompe W50 coûte 1999 euros.", "2199", "Les sources"),
    ],
    ids=["de", "zh", "fr"],
)
async def test_the_answer_says_so_in_the_language_of_the_question(
    question: str, first: str, second: str, opening: str
) -> None:
    other = first.replace("1999", second)

    said = await answer(question, *make_passages({"/shop.md": first, "/katalog.md": other}))

    assert said.startswith(opening)
    assert "1999" in said
    assert second in said


@pytest.mark.parametrize(
    "texts",
    [
        {"/shop.md": SHOP, "/catalogue.md": SHOP},
        {"/shop.md": SHOP, "/catalogue.md": "The W70 pump weighs 12 kilograms and is blue."},
        {"/oak house handbook.md": SHOP, "/elm house handbook.md": CATALOGUE},
        {"/fees 2023.md": SHOP, "/prices 2025.md": CATALOGUE},
    ],
    ids=["the same", "something else", "two houses", "two years"],
)
async def test_sources_that_do_not_contradict_each_other_are_no_disagreement(
    texts: dict[str, str],
) -> None:
    said = await answer("What does the W50 pump cost?", *make_passages(texts))

    assert "disagree" not in said


CHANGES = """# Changes

## 3.0.0

- The default timeout is 60 seconds.

## 2.4.0

- The default timeout is 30 seconds.
"""


@pytest.mark.parametrize(
    ("question", "seconds"),
    [
        ("What is the default timeout?", "60"),
        ("What was the default timeout in 2.4.0?", "30"),
    ],
)
async def test_one_section_of_a_changelog_answers(question: str, seconds: str) -> None:
    said = await answer(question, a_passage(1, CHANGES, path="/CHANGES.md"))

    assert said == f"The default timeout is {seconds} seconds. [1]"


async def test_who_asks_how_something_changed_gets_each_value_in_order() -> None:
    texts = {f"/fees {year}.md": f"The fee is {year - 1950} euros." for year in (2025, 2021, 2023)}

    said = await answer("How has the fee changed?", *make_passages(texts))

    assert said == (
        "fees 2021 (2021): The fee is 71 euros. [2]\n"
        "fees 2023 (2023): The fee is 73 euros. [3]\n"
        "fees 2025 (2025): The fee is 75 euros. [1]"
    )


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which is the newest travel policy?", "travel policy 2025 (2025) [2]"),
        ("What is the latest version of the travel policy?", "travel policy 2025 (2025) [2]"),
        ("Which travel policy is the oldest?", "travel policy 2021 (2021) [1]"),
    ],
)
async def test_the_newest_or_oldest_document_is_named(question: str, said: str) -> None:
    texts = {f"/travel policy {year}.md": "The limit is 95 euros." for year in (2021, 2025)}

    assert await answer(question, *make_passages(texts)) == said


async def test_a_number_in_a_title_is_no_citation() -> None:
    texts = {"/shop [7].md": SHOP, "/catalogue [8].md": CATALOGUE}

    said = await answer("What does the W50 pump cost?", *make_passages(texts))

    assert citation_numbers(said) == [1, 2]
