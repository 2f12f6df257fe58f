"""Whether the passages were enough: what of a question they speak of, and whether they conflict."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.answer import Citation, Verdict
from ragstone.core.turn import Ask, Passage, Turn
from ragstone.verify.citation import citation
from ragstone.verify.sufficiency import conflicting, coverage
from tests.engine.samples import a_passage
from tests.local_checker import local_checker

TEXTS = ["The lighthouse of Ost was built in 1871.", "Ada Okafor approved it."]


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("When was the lighthouse built?", ()),
        ("Who approves lighthouses?", ()),
        ("What is Ost's lighthouse?", ()),
        ("Who approved vitamin C?", ("vitamin C",)),
        ("How long is the lighthouse?", ()),
        ("How high is the lighthouse of Ost?", ()),
        ("Wie lange steht the lighthouse?", ("steht",)),
        ("When was the lighthouse dismantled?", ("dismantled",)),
        ("What does the harbour master of Ost earn?", ("harbour master", "earn")),
        ("How many people work at the lighthouse?", ()),
        ("Who?", ()),
        ("", ()),
    ],
)
def test_given_a_question_then_what_nothing_speaks_of_is_named(
    question: str, missing: tuple[str, ...]
) -> None:
    assert coverage(question, TEXTS)[1] == missing


def test_given_a_rare_word_that_is_missing_then_it_counts_more_than_a_usual_one() -> None:
    usual, rare = (coverage(f"Who {w} the lighthouse?", TEXTS)[0] for w in ("saw", "gilded"))
    assert rare < usual < 1


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Combien de temps dure la garantie ?", "La garantie dure deux ans."),
        ("¿Cuánto tiempo dura la garantía?", "La garantía dura dos años."),
        ("保修期是多长时间？", "保修期是两年。"),
    ],
)
def test_what_kind_of_answer_is_wanted_is_nothing_that_a_text_has_to_say(
    question: str, text: str
) -> None:
    assert coverage(question, [text]) == (1.0, ())


@given(st.text(max_size=80), st.lists(st.text(max_size=40), max_size=3))
def test_given_any_texts_then_a_share(question: str, texts: list[str]) -> None:
    share, missing = coverage(question, texts)
    assert -1e-9 <= share <= 1
    assert all(missing)
    assert coverage(question, [*texts, question])[0] == pytest.approx(1)


def cited(passage: Passage, sentence: str) -> Citation:
    start = passage.text.index(sentence)
    return citation(passage, start, start + len(sentence))


def titled(passage: Passage, title: str) -> Passage:
    chunk = replace(passage.hit.chunk, title=title)
    return replace(passage, hit=replace(passage.hit, chunk=chunk))


async def conflict(sentence: str, other: str, *titles: str) -> bool:
    first, second = a_passage(1, sentence), a_passage(2, other, document_id="d2")
    if titles:
        first, second = titled(first, titles[0]), titled(second, titles[1])
    verdicts = (Verdict(sentence, "supported", 0.99, cited(first, sentence)),)
    turn = Turn(Ask("What?"), question="What?", passages=(first, second), verdicts=verdicts)
    return await conflicting(turn, local_checker(), 2, 4)


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
