"""Text is cut into the likeliest row of pieces."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from ragstone.models.e5_weights import Unigram

PIECES = {"<unk>": 0.0, "▁": -3.0, "a": -2.0, "b": -2.5, "ab": -3.0, "▁a": -2.0, "ba": -6.0}
COSTS = list(PIECES.values())
NAMES = list(PIECES)
UNKNOWN = -16.0
"""Ten below the rarest piece."""


def a_tokenizer() -> Unigram:
    return Unigram(NAMES, COSTS, {ord("\n"): " ", ord("A"): "a", 7: ""}, 0)


def cut(text: str) -> list[str]:
    return [NAMES[item] for item in a_tokenizer().ids(text)]


def test_given_several_ways_then_the_likeliest_is_taken() -> None:
    assert cut("ab") == ["▁a", "b"]
    assert cut("bab") == ["▁", "b", "ab"]


def test_given_spaces_then_several_are_one_and_each_stands_before_its_word() -> None:
    assert cut("a   b ") == ["▁a", "▁", "b", "▁"]
    assert cut(" a") == cut("a") == ["▁a"]


def test_given_characters_that_have_another_form_then_that_is_cut() -> None:
    assert cut("A\nb\x07b") == ["▁a", "▁", "b", "b"]


def test_given_characters_that_no_piece_has_then_each_is_unknown() -> None:
    assert cut("a??") == ["▁a", "<unk>", "<unk>"]
    assert cut("\ud800") == ["▁", "<unk>"]


def test_given_no_text_then_it_is_one_space() -> None:
    assert cut("") == cut(" ") == ["▁"]


@given(st.text("ab?", max_size=9))
def test_no_other_row_of_pieces_is_likelier(word: str) -> None:
    @cache
    def best(rest: str) -> float:
        if not rest:
            return 0.0
        ways = [UNKNOWN + best(rest[1:])]
        ways += [cost + best(rest[len(p) :]) for p, cost in PIECES.items() if rest.startswith(p)]
        return max(ways)

    found = a_tokenizer().ids(word)
    assert abs(sum(COSTS[item] if item else UNKNOWN for item in found) - best("▁" + word)) < 1e-9


def test_given_places_then_each_piece_stands_where_its_text_does() -> None:
    assert a_tokenizer().place_tokens(" A\x07b  ab") == [
        (NAMES.index("▁a"), 1, 2),
        (NAMES.index("b"), 3, 4),
        (NAMES.index("▁a"), 6, 7),
        (NAMES.index("b"), 7, 8),
    ]


@given(st.text("abA?\n ", max_size=12))
def test_pieces_with_places_are_those_without(text: str) -> None:
    tokenizer = a_tokenizer()
    plain = " ".join(text.split())
    if plain:
        assert [piece for piece, _, _ in tokenizer.place_tokens(text)] == tokenizer.ids(plain)
    places = [(start, end) for _, start, end in tokenizer.place_tokens(text)]
    assert all(start <= end for start, end in places)
    assert places == sorted(places)
