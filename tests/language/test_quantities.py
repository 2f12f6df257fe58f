"""The numbers and months that a text states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.quantities import quantities, states


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000 people", "1000 people"),
        ("1.000 Leute", "one thousand people"),
        ("1\u00a0000 personnes", "mille personnes"),
        ("two", "2"),
        ("twenty-three", "23"),
        ("einundzwanzig", "21"),
        ("vingt", "zwanzig"),
        ("三千五百人", "3,500"),
        ("3.2万人", "32,000"),
        ("3만 원", "₩30,000"),
        ("$1.5 million", "1,500,000 dollars"),
        ("90 percent", "90%"),
        ("quattro giorni", "quatro dias"),
        ("a four-day week", "4 days"),
        ("dois milhões", "due milioni, 2 milioni"),
        ("3 maggio", "3 de maio"),
        ("3 May 2001", "2001-05-03"),
        ("2024年5月3日", "May 3, 2024"),
        ("3. Mai 2024", "3 de mayo de 2024"),
        ("二〇〇八年", "2008"),
        ("9.4 million", "9,412,000"),
        ("1.234,5", "1,234.5"),
        ("1\u00a0234,5", "1234.5"),
        ("1,00,000 rupees", "100,000 rupees"),
        ("2.5 lakh", "250,000"),
        ("3 crore", "30,000,000"),
        ("1億2000万円", "120,000,000 yen"),
        ("3.2亿", "320 million"),
        ("two weeks", "14 days"),
        ("zwei Wochen", "14 days"),
        ("36 months", "3 years"),
        ("24 hours", "1 day"),
        ("1.5 km", "1,500 metres"),
        ("14天", "two weeks"),
        ("3か月", "3 months"),
        ("the 14-day period", "14 days"),
    ],
)
def test_given_the_same_in_another_spelling_then_it_is_stated(one: str, other: str) -> None:
    assert quantities(one)
    assert all(states(quantities(other), quantity) for quantity in quantities(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000", "1,001"),
        ("1999", "1998"),
        ("90%", "$90"),
        ("May 3", "June 3"),
        ("5月", "5"),
        ("$5 million", "$5 billion"),
        ("三千", "四千"),
        ("9.41 million", "9.4 million"),
        ("14 days", "30 days"),
        ("14 days", "14 months"),
        ("2 weeks", "2 days"),
        ("1.5 km", "1.5 metres, 150 cm"),
        ("1,00,000", "10,000"),
        ("2,200 employees", "2.2 Parental leave"),
        ("1億2000万", "1億"),
        ("The company has 1,250 employees.", "The company has 1.25 employees on average."),
        ("Die Firma hat 1.250 Beschäftigte.", "The company has 1.25 employees on average."),
    ],
)
def test_given_another_number_unit_or_month_then_it_is_not_stated(one: str, other: str) -> None:
    assert not all(states(quantities(other), quantity) for quantity in quantities(one))


@pytest.mark.parametrize(
    "text", ["", "one of them", "it may march on", "一个人", "no numbers", "it is due"]
)
def test_given_words_that_are_also_articles_or_verbs_then_nothing_is_stated(text: str) -> None:
    assert not quantities(text)


@pytest.mark.parametrize(
    "heading", ["2.2 Parental leave", "## 3.1.4 Scope of this document", "§ 1.2 Geltungsbereich"]
)
def test_given_a_numbered_heading_then_its_number_is_no_quantity(heading: str) -> None:
    assert not quantities(heading)


@pytest.mark.parametrize(
    ("text", "values"),
    [("2.2 Millionen Euro", {2.2e6}), ("2.2 metres", {2.2}), ("2.2 Parental leave is 5.", {2.2})],
)
def test_given_a_line_that_begins_with_an_amount_then_it_counts(
    text: str, values: set[float]
) -> None:
    assert quantities(text)[0].values == values


@given(st.text(max_size=300))
def test_any_text_states_its_own_quantities(text: str) -> None:
    found = quantities(text)
    assert all(states(found, item) for item in found)
