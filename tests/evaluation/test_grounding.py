"""The measures of grounding."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import InputError
from ragstone.plugins.evaluation.grounding import evaluate, label, rows

SOURCE = "The bridge over the Rhine was built in 1890. It is 320 metres long."


def a_file(directory: Path, given: list[Any], packed: bool = False) -> Path:
    file = directory / ("rows.jsonl.gz" if packed else "rows.jsonl")
    text = "\n".join(json.dumps(item) for item in given)
    file.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return file


@pytest.mark.parametrize("packed", [True, False])
async def test_given_rows_then_the_measures(tmp_path: Path, packed: bool) -> None:
    given = [
        {"source": SOURCE, "response": "It is 320 metres long.", "hallucinated": False},
        {"source": SOURCE, "claim": "It is 321 metres long.", "hallucinated": True},
        {"source": SOURCE, "claim": "It is long. Cows fly to Peru.", "label": "not_supported"},
    ]
    found = await evaluate(a_file(tmp_path, given, packed))
    assert found["auroc"] == 1
    assert found["balanced_accuracy"] == 1
    assert found["f1"] == 1
    assert found["rows"] == 3
    assert found["p50_ms"] is not None


async def test_given_one_kind_only_then_there_is_no_auroc(tmp_path: Path) -> None:
    file = a_file(tmp_path, [{"source": SOURCE, "claim": "It is old.", "label": True}])
    found = await evaluate(file)
    assert found["auroc"] is None


@pytest.mark.parametrize(
    ("row", "supported"),
    [
        ({"hallucinated": True}, False),
        ({"hallucinated": 0}, True),
        ({"hallucinated": "no"}, True),
        ({"hallucinated": "yes"}, False),
        ({"label": "supported"}, True),
        ({"label": "partially_supported"}, False),
        ({"label": "Not Supported"}, False),
        ({"label": 1}, True),
        ({"label": "0"}, False),
        ({"label": "ENTAILMENT"}, True),
        ({"supported": False}, False),
        ({"verdict": "contradicted"}, False),
        ({"label": "partially_supported", "hallucinated": True}, False),
        ({"label": "maybe"}, None),
        ({}, None),
    ],
)
def test_given_a_label_in_any_form_then_what_it_says(row: Any, supported: bool | None) -> None:
    assert label(row) is supported


@pytest.mark.parametrize(
    ("row", "lacking"),
    [
        ({"source": SOURCE, "claim": "x"}, "no usable label"),
        ({"claim": "x", "label": True}, "no usable source"),
        ({"source": SOURCE, "label": True}, "no usable response"),
        ([1], "not a JSON object"),
    ],
)
def test_given_a_row_that_lacks_something_then_a_clear_error(
    tmp_path: Path, row: Any, lacking: str
) -> None:
    good = {"source": [SOURCE], "claim": "x", "label": True}
    with pytest.raises(InputError, match=f"Row 2 .*{lacking}"):
        rows(a_file(tmp_path, [good, row]))
