"""Topics from CSV: tolerant of how it is written, all or nothing, and clear about what is wrong."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import InvalidTopic
from ragstone.guard.topic_file import example_list, read_csv, read_file, topic, write_csv


def test_a_whole_row() -> None:
    text = '\ufeffTerm, Synonyms,examples\r\nsalary,"wage; pay grade;Wages",How much?\r\n\r\n'
    [found] = read_csv(text, "acme")
    assert (found.tenant, found.term) == ("acme", "salary")
    assert found.synonyms == ("wage", "pay grade")
    assert found.examples == ("How much?",)


def test_columns_in_any_order_and_short_rows() -> None:
    [one, two] = read_csv("synonyms,term\nboss,executive\n,salary\n", "default")
    assert (one.term, one.synonyms) == ("executive", ("boss",))
    assert (two.term, two.synonyms) == ("salary", ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Line 1: the first line must name the columns"),
        ("salary\nwage\n", "Line 1: the first line must name the columns"),
        ("term,colour\n", "Line 1: there is no column 'colour'"),
        ("term\n", "has no topics"),
        ("term\nsalary\n?!\n", "Line 3: The term '\\?!' has no letter"),
        ("term,note\n,x\n", "Line 2: The term '' has no letter"),
        ("term\nsalary\nSalaries\n", "Line 3: the term 'Salaries' is already on line 2"),
        ("term\na,b\n", "Line 2: it has 2 cells"),
        ('term\n"sal\n', "this is not CSV"),
        (f"term\n{'x' * 201}\n", "201 characters; at most 200"),
        (f"term,synonyms\nx,{';'.join(f'word{n}' for n in range(101))}\n", "more than 100"),
    ],
)
def test_given_a_mistake_then_the_line_is_named(text: str, message: str) -> None:
    with pytest.raises(InvalidTopic, match=message):
        read_csv(text, "default")


def test_the_same_term_of_two_tenants_is_two_topics() -> None:
    assert topic("a", "salary").id != topic("b", "salary").id
    assert topic("a", "Salaries").id == topic("a", "salary").id


def test_the_example_list_is_read_and_written() -> None:
    topics = read_csv(example_list(), "default")
    assert len(topics) > 50
    assert read_csv(write_csv(topics), "default") == topics


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "topics.csv"
    file.write_bytes("\ufeffterm\n임원\n".encode())
    assert [item.term for item in read_csv(read_file(file), "default")] == ["임원"]
    file.write_bytes(b"term\n\xff\xfe\n")
    with pytest.raises(InvalidTopic, match="not in UTF-8"):
        read_file(file)
    with pytest.raises(InvalidTopic, match="cannot be read"):
        read_file(tmp_path / "absent.csv")


@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InvalidTopic):
        assert read_csv("term,synonyms\n" + text, "default")
