"""Misspelt words are put right; names, terms, identifiers, quotations and code are left alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.language.dictionary import english
from ragstone.understand.misspelling import one_edit
from ragstone.understand.question_words import unknown_words
from ragstone.understand.spelling import Corpus, alike, correct


def corrected(question: str, corpus: Corpus | None = None) -> str:
    return correct(question, unknown_words(question, english()), english(), corpus).text


def of_words(question: str, *words: str) -> Corpus:
    """What is known of a question where a corpus holds these words."""
    unknown = {item.word for item in unknown_words(question, english())}
    near = {word: sorted(one_edit(word) & set(words)) for word in unknown}
    return Corpus(dict.fromkeys(words, 2), near)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("What is the accomodation budget?", "What is the accommodation budget?"),
        ("when was the goverment formed", "when was the government formed"),
        ("Waht is the deadline for submissions?", "What is the deadline for submissions?"),
        ("Who is responsable for saftey checks?", "Who is responsible for safety checks?"),
        ("what does the definately clause say", "what does the definitely clause say"),
        ("WHAT IS THE WARANTY PERIOD?", "WHAT IS THE WARRANTY PERIOD?"),
        ("What are the company's maintainance costs?", "What are the company's maintenance costs?"),
    ],
)
def test_given_a_misspelt_word_then_it_is_put_right_in_the_same_case(
    typed: str, meant: str
) -> None:
    assert corrected(typed) == meant


@pytest.mark.parametrize(
    "question",
    [
        "What is the torque of part QX-4471-B?",
        "What does getCustomerAdress return?",
        "What does get_adress() do in utils.adress?",
        "Where is the file /home/adress/recieve.txt?",
        "Who wrote to recieve@exmaple.com about it?",
        'What does the sign "Wellcome freinds" mean?',
        "What does “Wellcome freinds” mean on the sign?",
        "What does `recieve = adress + 1` do here?",
        "Who is Hrafnkelsson in this story?",
        "What did Ms Jonsonn say to the board?",
        "How many kWh does the HVAC use at 230 V?",
        "What is the role of ubiquitination in neuroinflammation?",
        "Is the assay done in vitro or in vivo?",
        "what doesnt work without a licence",
        "How much is 1,234.56 and what is v2.0rc1?",
    ],
)
def test_given_identifiers_names_quotations_code_or_terms_then_nothing_changes(
    question: str,
) -> None:
    assert corrected(question) == question


@pytest.mark.parametrize(
    "question",
    [
        "Wie hoch ist die maximale Entschädigung bei Verspätung?",
        "Welche Fristen gelten fuer die Kuendigung der Wohnung?",
        "Quelle est la durée de validité du contrat?",
        "¿Cuál es la capital de la provincia?",
        "什么是退款政策?",
        "Какой срок гарантии?",
        "Wat is de garantietermijn van het apparaat?",
    ],
)
def test_given_a_language_without_a_dictionary_then_nothing_changes(question: str) -> None:
    assert corrected(question) == question


def test_given_a_word_of_the_corpus_then_it_is_left_alone() -> None:
    question = "What does the goverment module do?"
    assert corrected(question) != question
    assert corrected(question, of_words(question, "goverment", "module")) == question


def test_given_a_name_that_only_the_corpus_holds_then_its_misspelling_is_corrected() -> None:
    question = "Who is Hrafnkellsson in this story?"
    assert corrected(question) == question
    corpus = of_words(question, "hrafnkelsson")
    assert corrected(question, corpus) == "Who is Hrafnkelsson in this story?"


@pytest.mark.conforms(
    "Query pipeline", "Step 3", "Under 50 % of the words shared: the correction is reverted"
)
def test_given_most_words_wrong_then_the_question_is_left_as_it_is() -> None:
    assert corrected("goverment") == "goverment"
    assert corrected("the goverment accomodation warrenty") == "the goverment accomodation warrenty"


@pytest.mark.parametrize(
    ("one", "other", "similar"),
    [
        ("the cat", "the cap", True),
        ("of them is what", "too the java what", False),
        ("a xxxxxxxxxxxxxxxxxxxx", "a yyyyyyyyyyyyyyyyyyyy", False),
    ],
)
@pytest.mark.conforms(
    "Query pipeline", "Step 3", "Under 60 % alike by edit distance: the correction is reverted"
)
def test_given_two_texts_then_words_and_characters_decide_whether_they_are_alike(
    one: str, other: str, similar: bool
) -> None:
    assert alike(one, other) is similar


@settings(max_examples=200)
@given(st.text(max_size=200) | st.text("what is teh goverment's 'x`\"-_ \ud800é", max_size=80))
def test_given_anything_then_nothing_breaks_and_what_is_not_a_word_stays(question: str) -> None:
    text = corrected(question)
    kept = str.maketrans("", "", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert text.translate(kept) == question.translate(kept)


def test_given_five_thousand_characters_then_it_stays_fast_and_whole() -> None:
    question = "what is the goverment doing " * 180
    assert corrected(question) == question
    sane = "what is the government doing " * 170 + "about accomodation"
    assert corrected(sane).endswith("about accommodation")
