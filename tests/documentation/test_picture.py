"""The picture of the README shows what its transcript shows."""

from tests.documentation.picture import PICTURE, draw, transcript, words


def test_the_picture_shows_the_transcript() -> None:
    made = "`python -m tests.documentation.picture` draws it anew"
    drawn = PICTURE.read_text(encoding="utf-8")
    assert "".join(words(drawn)) == "".join(transcript().split()), made


def test_the_picture_loads_nothing() -> None:
    addresses = PICTURE.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert "http" not in addresses


def test_given_a_long_line_then_no_word_of_it_is_lost() -> None:
    line = " ".join(f"word{number}" for number in range(60))
    assert "".join(words(draw(f"$ {line}\n[1] end"))) == f"${line}[1]end".replace(" ", "")
