"""Whether the passages were enough: what of a question they speak of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.verify.sufficiency import asks_amount, coverage

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


@pytest.mark.parametrize(
    ("question", "wants"),
    [
        ("How many doors has the mill?", True),
        ("Wie oft fährt das Boot?", True),
        ("Combien de portes y a-t-il ?", True),
        ("¿Cuántas puertas tiene?", True),
        ("Quante porte ci sono?", True),
        ("Quantas portas há?", True),
        ("Hoeveel deuren zijn er?", True),
        ("Сколько там дверей?", True),
        ("有几个门？", True),
        ("ドアはいくつありますか？", True),
        ("문이 몇 개 있습니까?", True),
        ("How is the mill reached?", False),
        ("Wie heißt das Boot?", False),
        ("Comment s'appelle le bateau ?", False),
        ("Кто построил мельницу?", False),
        ("谁建了磨坊？", False),
    ],
)
def test_an_amount_is_asked_for_in_many_languages(question: str, wants: bool) -> None:
    assert asks_amount(question) is wants
