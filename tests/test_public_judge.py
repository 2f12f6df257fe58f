"""Public benchmarks judge an answer as a careful reader would, as far as words tell."""

import pytest

from benchmarks.public.judge import covers, rouge_l, says

PLANTS = "The plants are in Andheri and in Guldhar, near Delhi, and make cigarettes."


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        ("It was played in Tampa, Florida [1].", "Tampa Florida"),
        ("They were led by the Board of Directors. [2]", "a Board of Directors"),
        ("造成至少12人死亡、14人受伤。", "12人"),
        ("Purchases of property; 2018: $(1,577)", "$1577.00"),
        ("The ratio was 0.9587 at the end of the year.", "0.96"),
        ("Revenue was 8,738 million dollars.", "8.74"),
        ("It rose in 2019.", "2019"),
    ],
)
def test_an_accepted_answer_is_found_whatever_its_form(answer: str, accepted: str) -> None:
    assert says(answer, [[accepted]])


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        ("It was played in Glendale, Arizona.", "Tampa, Florida"),
        ("112人死亡。", "12人"),
        ("The ratio was 0.95.", "0.96"),
        ("One came. Two went. Then, on page 6, 9 were left.", "9"),
        ("Net sales; 2019: $191.9; 2018: $162.2", "2018"),
    ],
    ids=["another place", "part of a number", "too far", "far from the answer", "every year"],
)
def test_what_only_looks_like_it_is_not_accepted(answer: str, accepted: str) -> None:
    assert not says(answer, [[accepted]])


def test_each_part_of_an_answer_is_wanted_in_one_of_its_forms() -> None:
    parts = [["4", "four"], ["five"]]

    assert says("First came four of them, and five later.", parts)
    assert not says("First came four of them.", parts)


def test_a_long_answer_covers_most_words_and_numbers_of_the_reference() -> None:
    assert covers("Plants: Andheri; Guldhar, near Delhi.", PLANTS)
    assert not covers("The company has plants.", PLANTS)
    assert not covers("Sales rose in the quarter to 5 million.", "Sales rose in the quarter to 7.")


def test_rouge_counts_words_in_their_order() -> None:
    assert rouge_l("a dog bites men", "dog bites men [1]") == pytest.approx(6 / 7)
    assert rouge_l("men bites dog", "dog bites men") == pytest.approx(1 / 3)
    assert rouge_l("", "dog") == 0
