"""Sentences about tables in the language of the question."""

from pathlib import Path
from string import Formatter

import pytest

from ragstone.plugins.tables.computation import compute
from ragstone.plugins.tables.saying import _TEXTS, sentence
from ragstone.plugins.tables.table_question import Condition, TableQuestion
from tests.knowledge.tables.files import tables_of, written


def find_blanks(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("kind", ["rows", "cells"])
def test_every_language_says_the_same(kind: str) -> None:
    for texts in _TEXTS[kind].values():
        assert {name: find_blanks(text) for name, text in texts.items()} == {
            name: find_blanks(text) for name, text in _TEXTS[kind]["en"].items()
        }


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            "en",
            "The sum of Price EUR over 2 rows of the table “equipment-inventory” is 65,300 where",
        ),
        (
            "fr",
            "La somme de Price EUR sur 2 lignes du tableau « equipment-inventory » est 65\u202f300",
        ),
        ("es", "La suma de Price EUR en 2 filas de la tabla «equipment-inventory» es 65.300 donde"),
        ("pt", "A soma de Price EUR em 2 linhas da tabela «equipment-inventory» é 65.300 onde"),
        (
            "it",
            "La somma di Price EUR su 2 righe della tabella «equipment-inventory» è 65.300 dove",
        ),
        ("nl", "The sum of Price EUR over 2 rows"),
    ],
)
def test_a_sum_is_said_in_the_language(language: str, said: str, tmp_path: Path) -> None:
    [table] = tables_of(written(tmp_path))
    ventilators = (Condition("Device", "in", ("Ventilator",)),)
    asked = TableQuestion(table, "sum", "Price EUR", conditions=ventilators)
    found = compute(asked)
    assert found
    assert sentence(asked, found, language).startswith(said)
