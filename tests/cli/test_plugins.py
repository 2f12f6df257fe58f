"""`ragstone plugins` shows every extension point and what is wrong with packages."""

import json

from typer.testing import CliRunner

from ragstone.cli import app
from ragstone.cli.plugins import points
from tests.packages import Site, site

__all__ = ["site"]

RUNNER = CliRunner()


def test_given_no_packages_then_every_point_with_what_is_ours() -> None:
    shown = RUNNER.invoke(app, ["plugins", "--json"])
    assert shown.exit_code == 0
    found = json.loads(shown.stdout)["points"]
    assert len(found) == len(points())
    for registry in points():
        rows = found[registry.group.removeprefix("ragstone.")]
        assert [row["name"] for row in rows] == list(registry)
        assert all(row["help"] and row["package"] == "ragstone" for row in rows)


def test_given_one_point_then_it_alone() -> None:
    shown = RUNNER.invoke(app, ["plugins", "rerankers"])
    assert "late-interaction" in shown.stdout
    assert "multilingual" not in shown.stdout
    assert RUNNER.invoke(app, ["plugins", "nothing"]).exit_code == 2


def test_given_packages_then_what_they_bring_and_what_is_wrong_with_them(site: Site) -> None:
    added = {
        "ragstone.embedders": {"good": "added_parts:embedder", "minilm": "added_parts:embedder"},
        "ragstone.rerankers": {"bad": "added_parts:gone"},
        "ragstone.fomats": {"x": "added_parts:x"},
    }
    source = "def embedder(settings):\n    '''Embeds well. It is fast.'''\n"
    site.add("added-parts", added, added_parts=source)
    shown = RUNNER.invoke(app, ["plugins", "--added"])
    assert shown.exit_code == 1
    assert "  good  Embeds well (added-parts 1.0)" in shown.stdout.splitlines()
    assert "  bad  broken (added-parts 1.0)" in shown.stdout.splitlines()
    assert "pdf" not in shown.stdout
    problems = [line for line in shown.stderr.splitlines() if "added-parts 1.0" in line]
    assert len(problems) == 3
    assert "The embedder 'minilm' of added-parts 1.0 is left out" in problems[0]
    assert "The reranker 'bad' of added-parts 1.0 cannot be used" in problems[1]
    assert problems[2].endswith("to ragstone.fomats, which is not an extension point.")
