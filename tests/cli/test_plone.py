"""`ragstone plone sync` on a real site and a real data directory."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ragstone.cli import app
from tests.plone_server import TOKEN, PloneServer, plone_server


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RAGSTONE_DATA", str(tmp_path))
    monkeypatch.setattr("ragstone.plugins.plone.client.RETRIES", 0)


def sync(site: PloneServer, *arguments: str, token: str = TOKEN) -> Result:
    return CliRunner().invoke(app, ["plone", "sync", site.site, "--token", token, *arguments])


def test_given_a_site_then_it_is_indexed_and_searched() -> None:
    with plone_server() as site:
        site.add("u1", "/contact", text={"data": "<p>We open at nine.</p>"})
        first = sync(site)
        assert (first.exit_code, first.stdout) == (
            0,
            "1 indexed, 0 unchanged, 0 deleted, 0 failed.\n",
        )
        again = json.loads(sync(site, "--full", "--json").stdout)
        assert (again["indexed"], again["unchanged"], again["finished"]) == (0, 1, True)
        site.add_file("u2", "/bad", "bad.pdf", b"none", "application/pdf")
        failed = sync(site, "--full")
        assert failed.exit_code == 1
        assert "bad.pdf" in failed.stderr
    found = CliRunner().invoke(app, ["search", "open", "-c", "plone"])
    assert "/contact" in found.stdout


def test_given_trouble_then_one_line_that_says_what_to_do() -> None:
    with plone_server() as site:
        refused = sync(site, token="wrong")
        site.way = "html"
        broken = sync(site)
    assert (refused.exit_code, broken.exit_code) == (1, 1)
    assert "PLONE__TOKEN" in refused.stderr
    assert "HTML page instead of JSON" in broken.stderr
    missing = CliRunner().invoke(app, ["plone", "sync"])
    assert "PLONE__URL" in missing.stderr
