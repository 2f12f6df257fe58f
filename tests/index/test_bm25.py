"""The numbers that BM25 finds beside the tokenizer's words."""

from hypothesis import given
from hypothesis import strategies as st

from ragstone.index.bm25 import Bm25Encoder, numbers

encoder = Bm25Encoder("en")
NO_LETTER = st.sampled_from(["", " ", "-", "(", "A-", "第", "월"])


@given(st.from_regex(r"[0-9]{1,12}", fullmatch=True), NO_LETTER)
def test_given_digits_that_stand_alone_then_one_number(digits: str, before: str) -> None:
    assert numbers(f"x {before}{digits}, y") == numbers(digits)
    assert set(numbers(digits)) <= set(encoder.query(f"x {before}{digits}, y").indices)


@given(st.from_regex(r"[a-zé]{0,3}[0-9]{1,9}[a-zй]{1,3}|[b-h][0-9]{1,9}", fullmatch=True))
def test_given_digits_beside_letters_then_the_tokenizer_has_the_word(word: str) -> None:
    assert not numbers(word)
    assert encoder.query(word).indices


def test_given_thousands_then_they_are_one_number_and_decimals_two() -> None:
    assert numbers("1,577,000 1.577.000 1577000").total() == 3
    assert len(numbers("1,577,000 1.577.000 1577000")) == 1
    assert numbers("3.5") == numbers("3 5")


def test_given_a_number_often_then_its_weight_saturates_and_the_query_asks_once() -> None:
    [once] = encoder.document("7").values
    [often] = encoder.document("7 " * 50).values
    assert once < often < 2.2
    assert encoder.query("7 7 7").values == [1.0]
