"""Long texts are cut into pieces at the ends of sentences."""

from hypothesis import given
from hypothesis import strategies as st

from ragstone.reader import pairs as windows
from ragstone.reader.pairs import Placed


def placed(text: str) -> Placed:
    """A token for each word."""
    found, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        found.append((len(word), start, at))
    return found


TEXTS = st.lists(st.sampled_from(["One.", "word", "two", "End!", "three。"]), max_size=60).map(
    " ".join
)


@given(TEXTS)
def test_a_claim_is_cut_into_its_sentences_and_short_ones_go_with_their_neighbours(
    text: str,
) -> None:
    tokens = placed(text)
    found = windows.claim_pieces(text, tokens)
    assert [item for piece in found for item in piece] == list(tokens)
    assert len(found) < 2 or all(len(piece) >= windows.MIN_PIECE for piece in found)


def test_given_two_sentences_of_a_claim_then_each_is_read_by_itself() -> None:
    text = "The first one has quite some words. The second one has some words too."
    found = windows.claim_pieces(text, placed(text))
    assert [text[piece[0][1] : piece[-1][2]] for piece in found] == [
        "The first one has quite some words.",
        "The second one has some words too.",
    ]


@given(TEXTS, st.integers(1, 9))
def test_overlapping_pieces_hold_every_token_and_are_no_longer(text: str, size: int) -> None:
    tokens = placed(text)
    found = windows.build_windows(text, tokens, size)
    assert {item for piece in found for item in piece} == set(tokens)
    assert all(0 < len(piece) <= size for piece in found)
    assert all(list(piece) == sorted(piece, key=lambda item: item[1]) for piece in found)


def test_given_overlap_then_two_sentences_in_a_row_are_read_together() -> None:
    text = "First one here. Second two there. Third three where."
    found = windows.build_windows(text, placed(text), 6)
    assert [text[piece[0][1] : piece[-1][2]] for piece in found] == [
        "First one here. Second two there.",
        "Second two there. Third three where.",
    ]


def test_given_many_windows_then_those_with_the_rarest_of_the_wanted_tokens_are_read() -> None:
    many = [[(1, 0, 1)] for _ in range(windows.MAX_WINDOWS * 3)]
    many[20] = [(7, 0, 1)]
    found = windows.nearest_windows(many, [(1, 0, 1), (7, 2, 3)])
    assert len(found) == windows.MAX_WINDOWS
    assert [(7, 0, 1)] in found
