"""What a question compares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.understand.comparison import comparison


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("What is the difference between before_request and teardown_request?",
         ("before_request", "teardown_request")),
        ("Which is louder, the Tern 200 or the Tern 400?", ("Tern 200", "Tern 400")),
        ("Did the shop earn more in 2014 or in 2015?", ("2014", "2015")),
        ("Was the rate higher in fiscal 2023 than in fiscal 2022?", ("fiscal 2023", "fiscal 2022")),
        ("Compare the basic plan with the premium plan", ("basic plan", "premium plan")),
        ("War der Gewinn höher im Jahr 2023 oder im Jahr 2022?", ("Jahr 2023", "Jahr 2022")),
    ],
)  # fmt: skip
def test_the_two_things_that_are_compared(question: str, sides: tuple[str, str]) -> None:
    found = comparison(question)
    assert found is not None
    assert (found.first, found.second) == sides


@pytest.mark.parametrize(
    "question", ["What is the revenue in 2020?", "Is it cheaper to rent or to buy?", ""]
)
def test_a_question_that_compares_no_two_named_things(question: str) -> None:
    assert comparison(question) is None


@given(st.text(alphabet="more in 2014 or than,?: aé", max_size=300))
def test_any_text_is_looked_at_and_the_two_are_parts_of_it(text: str) -> None:
    found = comparison(text)
    if found:
        assert found.first.split()[-1] in text
        assert found.second.split()[-1] in text
