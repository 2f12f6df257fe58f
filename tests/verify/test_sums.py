"""Numbers of a claim that follow from those of a source."""

import pytest

from ragstone.verify.checker import MAX_VALUES, compute_numbers

BILL = "The rent is 89.00 euros, the deposit 944.10 euros. The lease began in May 2013."
MOVES = "The library had 40 staff in 1956 and 52 in 1989; it closed in February 2014."


@pytest.mark.parametrize(
    ("claim", "passage", "shown"),
    [
        ("Rent and deposit are 1,033.10 euros.", BILL, "944.1 + 89"),
        ("1,033.10 = 89.00 + 944.10", BILL, "944.1 + 89 = 89.00 + 944.10"),
        ("It took 33 years.", MOVES, "1989 - 1956"),
        ("Twelve more people worked there in 1989.", MOVES, "Twelve"),
        ("It closed nine months later.", f"{BILL} {MOVES}", "nine months"),
        ("There are 12 in total.", "Anna has 3, Ben 4 and Carla 5 of them.", "3 + 4 + 5"),
    ],
    ids=["sum", "equation", "difference", "number-in-words", "months", "list"],
)
def test_a_number_that_follows_is_written_as_it_is_computed(
    claim: str, passage: str, shown: str
) -> None:
    text = compute_numbers(claim, passage)

    assert text is not None
    assert shown in text


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("Rent and deposit are 1,133.10 euros.", BILL),
        ("The rent is 89.00 euros.", BILL),
        ("The rent is low.", BILL),
        (
            "There are 13 in total.",
            " ".join(f"Row {n} has {7 * n}." for n in range(1, MAX_VALUES + 3)),
        ),
    ],
    ids=["another-number", "stated", "no-number", "too-many-numbers"],
)
def test_what_does_not_follow_is_not_computed(claim: str, passage: str) -> None:
    assert compute_numbers(claim, passage) is None
