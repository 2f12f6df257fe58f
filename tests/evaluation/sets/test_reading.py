"""Files of questions, as people write them."""

import pytest

from ragstone.core.errors import InputError
from ragstone.plugins.evaluation.contract import MAX_QUESTIONS, SetQuestion
from ragstone.plugins.evaluation.sets.reading import check_questions, lines, questions

HEIGHT = SetQuestion("How high is the tower?", ("41 metres",), ("tower.md",))


@pytest.mark.parametrize(
    "text",
    [
        '{"question": "How high is the tower?", "answers": ["41 metres"], "sources": "tower.md"}\n',
        '[{"query": "How high is the tower?", "answer": "41 metres", "document": ["tower.md"]}]',
        "question,answers,sources\nHow high is the tower?,41 metres,tower.md\n\n",
        "\ufeffQuestion;Answer;Source\nHow high is  the tower?;41 metres;tower.md",
        '"question"\t"answers"\t"sources"\n"How high is the tower?"\t"41 metres"\t"tower.md"',
    ],
)
def test_given_any_form_then_the_same_question(text: str) -> None:
    assert questions(text) == [HEIGHT]


def test_given_plain_lines_then_each_is_a_question_without_expectations() -> None:
    assert questions("Who built it?\n\nWhen, and why?\n") == [
        SetQuestion("Who built it?"),
        SetQuestion("When, and why?"),
    ]


def test_several_answers_stand_in_one_cell_and_some_questions_have_none() -> None:
    found = questions("question,answers,answerable\nA?,one | two,\nB?,,no\n")
    assert found == [SetQuestion("A?", ("one", "two")), SetQuestion("B?", answerable=False)]


def test_what_is_written_is_read_again() -> None:
    whole = SetQuestion("Größe?", ("a",), ("b#page=2",), True, "liked", "disliked", "comment")
    assert questions(lines([whole, SetQuestion("B?", answerable=False)])) == [
        whole,
        SetQuestion("B?", answerable=False),
    ]


def test_the_same_question_twice_is_one() -> None:
    assert questions("A?\nA?\nB?") == [SetQuestion("A?"), SetQuestion("B?")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" \n", "empty"),
        ('{"question": "A?"}\n{"question": ', "Line 2"),
        ('[{"question": "A?"}, {"answers": ["b"]}]', "Row 2"),
        ("[1]", "Row 1"),
        ("[", "JSON list"),
        ("[" * 100_000, "JSON list"),
        ('{"question": 3}', "no text"),
        ('{"question": "A?", "answerable": "perhaps"}', "true or false"),
        ('{"question": "A?", "answers": [{}]}', "answers"),
        ('{"question": "A?", "liked": 3}', "liked"),
        ("[]", "no question"),
    ],
)
def test_what_is_wrong_is_named_by_its_row(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        questions(text)


def test_more_than_a_set_holds_is_refused() -> None:
    many = [SetQuestion(f"Question {number}?") for number in range(MAX_QUESTIONS + 1)]
    with pytest.raises(InputError, match="at most 2,000"):
        check_questions(many)
    with pytest.raises(InputError, match=r"Question 1 has more than 20,000"):
        check_questions([SetQuestion("a" * 20_001)])
    with pytest.raises(InputError, match="more than 100 things"):
        check_questions([SetQuestion("A?", tuple(map(str, range(101))))])
    with pytest.raises(InputError, match="over 100,000"):
        check_questions([SetQuestion("A?", liked="a" * 100_001)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("question\n" + '"' * 2_000_000, "Line 2 cannot be read as CSV"),
        ("question" + ",question" * 300_000 + "\n" + "a," * 300_000, "more than 20,000"),
        ('"' * 2_000_000, "more than 20,000"),
    ],
)
def test_given_what_no_table_holds_then_that_is_said(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        questions(text)
