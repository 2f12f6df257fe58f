"""The numbers, months and dates of questions about tables, in several languages."""

from datetime import date

import pytest

from ragstone.plugins.tables.question_text import read_question_text


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("How many houses have six bedrooms?", [6]),
        ("In which years did more than two million people die?", [2_000_000]),
        ("¿Cuántas estaciones superan los 10 millones de pasajeros?", [10_000_000]),
        ("SPD 得票超过一百万的州有几个？", [1_000_000]),
        ("Which cars cost less than $60,000?", [60_000]),
        ("Welche Wagen brauchen unter 3,5 Sekunden?", [3.5]),
        ("Wie viele Kurse kosten zwischen 50 und 100 Euro?", [50, 100]),
        ("Which are they?", []),
    ],
)
def test_numbers_are_read_with_the_words_that_say_them(question: str, numbers: list[float]) -> None:
    read = read_question_text(question)
    assert [float(number.value) for number in read.numbers] == numbers


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("How many people died on 30 April 1992?", date(1992, 4, 30)),
        ("Wie war das Wetter am 24. Dezember 2013?", date(2013, 12, 24)),
        ("2014年7月4日的气压是多少？", date(2014, 7, 4)),
        ("Quel temps faisait-il le 5 mars 2012 ?", date(2012, 3, 5)),
    ],
)
def test_a_date_is_a_month_with_its_day_and_year(question: str, day: date) -> None:
    assert [found for found, _ in read_question_text(question).dates] == [day]


def test_given_a_month_and_a_year_then_there_is_no_date() -> None:
    read = read_question_text("What was the average high in August 2013?")
    assert ([month for _, month in read.months], read.dates) == ([8], ())


def test_given_a_long_question_then_its_first_words_are_read() -> None:
    assert len(read_question_text("how many " * 1000).words) == 60
