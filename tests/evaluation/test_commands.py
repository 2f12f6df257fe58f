"""Every `ragstone eval` command prints the measures of a file of `examples/evaluation`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from ragstone.cli import app
from ragstone.plugins.evaluation.commands import app as eval_app

EXAMPLES = Path(__file__).parents[2] / "examples" / "evaluation"

CASES: Mapping[str, tuple[Sequence[str], Mapping[str, float]]] = {
    "retrieval": (["."], {"queries": 4, "recall@10": 1}),
    "answers": (["."], {"queries": 4, "contains_1": 1}),
    "confidence": (["."], {"queries": 4, "answered": 4, "right": 1}),
    "typos": (["."], {"questions": 4}),
    "intents": (["intents.jsonl"], {"texts": 3}),
    "rewrite": (["rewrites.jsonl"], {"questions": 2, "changed": 1}),
    "cache": (["pairs.jsonl"], {"pairs": 3, "hits": 1, "precision": 1, "recall": 1}),
    "guard": (
        ["guard.jsonl", "--topics", "topics.csv"],
        {"questions": 2, "caught": 1, "blocked": 0},
    ),
    "spelling": (["spelling.jsonl"], {"misspelt": 2, "fixed": 1, "kept": 1}),
    "grounding": (["claims.jsonl"], {"rows": 2, "auroc": 1}),
}
"""By command: its arguments, and some of the measures."""


def test_every_command_has_a_case() -> None:
    own = {"run", "runs", "feedback"}  # Of the user's own documents: tests/cli/test_evaluation.py.
    assert set(CASES) == set(typer.main.get_command(eval_app).commands) - own


@pytest.mark.slow
@pytest.mark.parametrize("command", CASES)
def test_given_an_example_then_its_measures_are_printed(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, measures = CASES[command]
    monkeypatch.chdir(EXAMPLES)
    result = CliRunner().invoke(app, ["eval", command, *arguments, "--json"])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout.splitlines()[-1])
    assert {name: printed.get(name) for name in measures} == measures
