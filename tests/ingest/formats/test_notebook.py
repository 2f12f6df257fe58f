"""Reading Jupyter notebooks."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import DocumentError
from ragstone.ingest.document import Block
from tests.ingest.formats.reading import opened


def cell(kind: str, source: Any, *outputs: Any) -> dict[str, Any]:
    return {"cell_type": kind, "source": source, "outputs": list(outputs)}


def test_given_a_notebook_when_read_then_text_code_and_outputs_stand_in_order(
    tmp_path: Path,
) -> None:
    table = "<table><tr><th>Name</th><th>Days</th></tr><tr><td>Ann</td><td>30</td></tr></table>"
    book = {
        "metadata": {"language_info": {"name": "python"}},
        "cells": [
            cell("markdown", ["# The mill\n", "\n", "It has `sails`.\n"]),
            cell("code", "1 + 1", {"output_type": "stream", "text": ["2\n"]}),
            cell("code", "frame", {"data": {"text/html": [table], "text/plain": ["Ann"]}}),
            cell("code", "plot", {"data": {"image/png": "aGk="}}),
            cell("raw", "As it is."),
        ],
    }
    parsed = opened(tmp_path, "a.ipynb", json.dumps(book))
    assert parsed.title == "The mill"
    assert list(parsed.blocks) == [
        Block("The mill", "heading", 1),
        Block("It has `sails`."),
        Block("1 + 1", "code", label="python"),
        Block("2", "code", label="output"),
        Block("frame", "code", label="python"),
        Block("Name: Ann; Days: 30", "table"),
        Block("plot", "code", label="python"),
        Block("As it is."),
    ]


def test_given_an_old_notebook_when_read_then_its_sheets_are(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Sails"},
        {"cell_type": "code", "input": ["x = 1"], "outputs": [{"text": "1"}]},
    ]
    parsed = opened(tmp_path, "a.ipynb", json.dumps({"worksheets": [{"cells": cells}]}))
    assert [block.text for block in parsed.blocks] == ["Sails", "x = 1", "1"]


@pytest.mark.parametrize("source", ["{", "[]", '{"cells": 3}', '{"a": 1}', "[" * 100_000])
def test_given_no_notebook_when_read_then_it_is_told_in_a_line(tmp_path: Path, source: str) -> None:
    with pytest.raises(DocumentError, match=r"a\.ipynb"):
        list(opened(tmp_path, "a.ipynb", source).blocks)
