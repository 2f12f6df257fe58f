"""What a question asks for, and whether a sentence holds it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.extractive.answer_type import ANY, Kind, answer_kind, fits, things


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was the mill built?", "time"),
        ("In which year did it burn?", "time"),
        ("Wann wurde sie gebaut?", "time"),
        ("Quand a-t-elle été construite ?", "time"),
        ("¿En qué año se construyó?", "time"),
        ("什么时候建成的？", "time"),
        ("いつ建てられましたか。", "time"),
        ("언제 지어졌습니까?", "time"),
        ("How many sails has it?", "number"),
        ("Wie hoch ist der Turm?", "number"),
        ("Combien de pages ?", "number"),
        ("¿Cuántas páginas tiene?", "number"),
        ("一共有几个人？", "number"),
        ("何人いましたか。", "number"),
        ("몇 명이 있었나요?", "number"),
        ("How much does it cost?", "money"),
        ("What percentage of people agree?", "share"),
        ("Who was king when it burnt?", "person"),
        ("Wer hat das gebaut?", "person"),
        ("Qui a gagné ?", "person"),
        ("¿Quién ganó?", "person"),
        ("谁赢了？", "person"),
        ("誰が勝ちましたか。", "person"),
        ("누가 이겼나요?", "person"),
        ("Where is the mill?", "place"),
        ("Wo steht die Mühle?", "place"),
        ("Où est le moulin ?", "place"),
        ("¿Dónde está el molino?", "place"),
        ("在哪里？", "place"),
        ("どこですか。", "place"),
        ("어디에 있나요?", "place"),
        ("Why did it burn?", "reason"),
        ("为什么？", "reason"),
        ("What is a mill?", ""),
        ("", ""),
    ],
)
def test_given_a_question_then_the_kind_that_it_asks_for(question: str, kind: Kind) -> None:
    assert answer_kind(question) == kind


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("When was it built?", "It was built in 1871.", "It was built by monks."),
        ("How many sails?", "It has four sails.", "It has sails."),
        ("Who built it?", "It was built by John Smith.", "It was built by monks."),
        ("Wann war das?", "Das war am 3. Mai.", "Das war dort."),
        ("多少人？", "共有15人。", "有人。"),
        ("いつですか。", "1871年です。", "昔です。"),
        ("언제입니까?", "1871년입니다.", "옛날입니다."),
        ("What did it cost?", "It cost 5 euros.", "It cost a lot."),
    ],
)
def test_a_sentence_with_the_thing_fits_and_one_without_does_not(
    question: str, right: str, wrong: str
) -> None:
    kind = answer_kind(question)
    assert fits(kind, right, question) == 1
    assert fits(kind, wrong, question) == 0


def test_a_thing_that_the_question_names_is_no_answer() -> None:
    question = "How many died in 1871?"
    assert fits("number", "The war of 1871.", question) == 0
    [thing] = things("number", "In 1871 there were 30.", question)
    assert (thing.start, thing.end) == (19, 21)


def test_where_nothing_shows_the_kind_every_sentence_is_worth_the_same() -> None:
    assert fits("", "Anything.", "What is it?") == ANY
    assert fits("person", "他赢了。", "谁赢了？") == ANY


@given(st.text(max_size=60), st.text(max_size=120))
def test_any_text_gives_a_share(question: str, sentence: str) -> None:
    kind = answer_kind(question)
    assert 0 <= fits(kind, sentence, question) <= 1
    for thing in things(kind, sentence, question):
        assert 0 <= thing.start <= thing.end <= len(sentence)
