import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.understand.question_kinds import LANGUAGES, by_rules
from ragstone.understand.small_talk import match_small_talk

EXAMPLES = Path(__file__).parent / "data" / "intents.tsv"
"""Language, intent, text. The patterns were tuned on every other line, from the first on."""

Example = tuple[str, str, str]


def examples() -> list[Example]:
    rows = (line.split("\t") for line in EXAMPLES.read_text(encoding="utf-8").splitlines())
    return [(language, intent, text) for language, intent, text in rows]


def right(example: Example) -> bool:
    language, intent, text = example
    if intent == "small_talk":
        return match_small_talk(text) is not None
    found = by_rules(text, language, continues=intent == "follow_up")
    return found is not None and found.name == intent


def test_the_examples_are_many_and_in_every_language() -> None:
    rows = examples()

    assert len(rows) >= 300
    assert {language for language, _, _ in rows} == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_nearly_all_examples_that_nothing_was_tuned_on_are_recognised(language: str) -> None:
    rows = [example for example in examples()[1::2] if example[0] == language]

    assert sum(map(right, rows)) >= 0.9 * len(rows)


def test_a_question_without_a_conversation_follows_nothing_up() -> None:
    alone = by_rules("And in 2020?", "en")

    assert alone is None or alone.name != "follow_up"


def test_a_whole_question_in_a_conversation_is_no_follow_up() -> None:
    found = by_rules("When does the supplier contract expire?", "en", continues=True)

    assert found is not None
    assert found.name == "factual"


def test_the_end_of_a_long_text_tells_too() -> None:
    long = "The company grew in this year. " * 100 + "Summarize this text."

    found = by_rules(long, "en")

    assert found is not None
    assert found.name == "summary"


def test_a_question_word_is_less_telling_than_a_pattern() -> None:
    word, pattern = by_rules("Who built it?", "en"), by_rules("Compare both.", "en")

    assert word is not None
    assert pattern is not None
    assert word.confidence < pattern.confidence


@given(
    st.text(alphabet=st.characters(), max_size=300),
    st.sampled_from([*LANGUAGES, "", "fi"]),
    st.booleans(),
)
def test_any_text_can_be_read(text: str, language: str, continues: bool) -> None:
    by_rules(text, language, continues=continues)


@pytest.mark.parametrize("language", [*LANGUAGES, ""])
@pytest.mark.parametrize(
    "text", ["a" * 5000, "what is " * 700, "的" * 5000, "a b " * 1500, "가한 나의 " * 800]
)
def test_long_texts_take_no_time(text: str, language: str) -> None:
    started = time.process_time()

    by_rules(text, language, continues=True)

    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "How often is Python 3.8 supported?"),
        ("en", "How often must the filter be cleaned?"),
        ("en", "How many times a day does the shuttle leave?"),
        ("de", "Wie oft muss der Filter gereinigt werden?"),
        ("de", "Wie häufig fährt der Bus?"),
        ("es", "¿Con qué frecuencia hay que limpiar el filtro?"),
        ("es", "¿Cuántas veces al día sale el autobús?"),
        ("zh", "过滤器每年要清洗几次？"),
        ("zh", "备份的频率是多少？"),
        ("ko", "필터는 얼마나 자주 청소해야 하나요?"),
        ("ko", "버스는 하루에 몇 번 있나요?"),
    ],
)
def test_how_often_something_is_due_is_no_calculation(language: str, question: str) -> None:
    found = by_rules(question, language)

    assert found is None or found.name != "aggregation"


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "How often did the lift fail in 2023?"),
        ("en", "How many times is the supplier mentioned?"),
        ("de", "Wie oft wurde der Aufzug repariert?"),
        ("de", "Wie häufig kommt das Wort Haftung in den Verträgen vor?"),
        ("es", "¿Cuántas veces se ha reparado el ascensor?"),
        ("es", "¿Con qué frecuencia aparece la palabra fianza?"),
        ("zh", "合同中提到了多少次违约？"),
        ("zh", "电梯发生了几次故障？"),
        ("ko", "계약서에 위약금은 몇 번 언급되나요?"),
        ("ko", "엘리베이터는 몇 번 고장 났었나요?"),
    ],
)
def test_how_often_something_happened_or_is_named_is_counted(language: str, question: str) -> None:
    found = by_rules(question, language)

    assert found is not None
    assert found.name == "aggregation"
