"""Questions for yes or no, by their form."""

import pytest

from ragstone.language.polarity import read_yes_no, yes_no


@pytest.mark.parametrize(
    ("question", "yes"),
    [
        ("Is Gunicorn available on Windows?", "Yes."),
        ("Was it sold?", "Yes."),
        ("Darf eine App mehrere Codebasen haben?", "Ja."),
        ("L'appareil est-il étanche ?", "Oui."),
        ("Est-ce que c'est permis ?", "Oui."),
        ("¿Se puede devolver?", "Sí."),
        ("可以退货吗？", "是。"),
        ("是否可以退货", "是。"),
        ("返品できますか？", "はい。"),
        ("환불할 수 있습니까?", "예."),
    ],
)
def test_a_question_for_yes_or_no_has_them_in_its_language(question: str, yes: str) -> None:
    words = yes_no(question)
    assert words is not None
    assert words[0] == yes


@pytest.mark.parametrize(
    "question",
    [
        "What is it?",
        "Was kostet die Jacke?",
        "Did Netflix earn more in 2014 or in 2015?",
        "Kostet es etwas oder ist es frei?",
        "Où est-il ?",
        "这是什么？",
        "何時に開きますか？",
        "언제 열립니까?",
        "Is it so? " + "It may be. " * 40,
        "",
    ],
)
def test_another_question_has_none(question: str) -> None:
    assert yes_no(question) is None


@pytest.mark.parametrize("said", ["Yes.", "no", "Nein.", "是。", "はい。", "Sí,"])
def test_one_of_the_words_alone_is_known(said: str) -> None:
    assert read_yes_no(said) is not None


@pytest.mark.parametrize("said", ["Yes, it is sold.", "Nobody", "不可以", "", "."])
def test_a_sentence_that_says_more_is_none(said: str) -> None:
    assert read_yes_no(said) is None
