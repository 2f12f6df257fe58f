"""A plugin or a package has settings of its own, which are like those of the core."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ragstone.registry import PLUGINS_OFF
from tests.packages import Site, site
from tests.test_plugins import ragstone_command

__all__ = ["site"]

pytestmark = pytest.mark.slow

TIDES = """
from typing import ClassVar
from pydantic import Field
from ragstone.settings.added import AddedSection
from ragstone.settings.aliases import Alias

class Tides(AddedSection):
    aliases: ClassVar = (Alias("HARBOUR_NAME", "tides.harbour", "Harbour"),)
    at_run_time: ClassVar = frozenset({"metres"})
    harbour: str = Field("Dover", description="Whose tides.")
    metres: float = Field(3.0, ge=0, le=20, description="How high.")

class Server(AddedSection):
    pass

def broken():
    pass
"""


@pytest.fixture
def path(site: Site, tmp_path: Path) -> str:
    """A path on which a package with settings is installed."""
    targets = {"tides": "tides:Tides", "server": "tides:Server", "broken": "tides:broken"}
    site.add("tide-tables", {"ragstone.settings": targets}, tides=TIDES)
    return os.pathsep.join([str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])


def explain(folder: Path, key: str, **environment: str) -> Any:
    done = ragstone_command(folder, "settings", "explain", key, "--json", **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_package_s_setting_is_read_and_explained_like_ours(tmp_path: Path, path: str) -> None:
    (tmp_path / "file.yaml").write_text("tides:\n  harbour: Calais\n  metres: 5\n")
    places = {"PYTHONPATH": path, "RAGSTONE_CONFIG": str(tmp_path / "file.yaml")}
    told = explain(tmp_path, "tides.harbour", **places)
    assert (told["value"], told["default"], told["help"]) == ("Calais", "Dover", "Whose tides.")
    assert explain(tmp_path, "tides.harbour", **places, TIDES__HARBOUR="Brest")["value"] == "Brest"
    assert explain(tmp_path, "tides.harbour", **places, HARBOUR_NAME="Ostend")["value"] == "Ostend"


def test_a_package_s_setting_changes_at_run_time_where_it_says_so(
    tmp_path: Path, path: str
) -> None:
    changed = ragstone_command(tmp_path, "settings", "set", "tides.metres", "7", PYTHONPATH=path)
    assert changed.returncode == 0, changed.stderr
    assert explain(tmp_path, "tides.metres", PYTHONPATH=path)["value"] == 7
    for key, value, error in (
        ("tides.metres", "70", "tides.metres cannot be"),
        ("tides.harbour", "Calais", "is read when the server starts: set TIDES__HARBOUR"),
    ):
        refused = ragstone_command(tmp_path, "settings", "set", key, value, PYTHONPATH=path)
        assert refused.returncode == 1
        assert error in refused.stderr


def test_a_wrong_value_of_a_package_s_setting_ends_the_start(tmp_path: Path, path: str) -> None:
    for variable, error in (
        ({"TIDES__METRES": "70"}, "The setting TIDES__METRES is wrong"),
        ({"TIDES__METERS": "7"}, "There is no setting TIDES__METERS. Do you mean TIDES__METRES?"),
    ):
        refused = ragstone_command(tmp_path, "collections", PYTHONPATH=path, **variable)
        assert refused.returncode == 1
        assert error in refused.stderr


def test_settings_that_cannot_be_are_left_out(tmp_path: Path, path: str) -> None:
    done = ragstone_command(tmp_path, "collections", PYTHONPATH=path, BROKEN__X="1")
    assert done.returncode == 0, done.stderr
    assert "'server' of tide-tables 1.0 cannot be used: ValueError: Ragstone has" in done.stderr
    assert "'broken' of tide-tables 1.0 cannot be used" in done.stderr


def test_code_finds_its_settings_by_their_type(path: str) -> None:
    program = (
        "from ragstone.settings import Settings, load\nfrom tides import Tides\n"
        "print(Tides.of(load(**{'tides.metres': 4})).metres, Tides.of(Settings()).metres,"
        " Tides.of(Settings(tides=Tides(metres=9))).metres)"
    )
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "4.0 3.0 9.0\n", done.stderr


@pytest.mark.parametrize(
    ("variable", "value"), [("PLONE__URL", "https://x.org/Plone"), ("RAG_ENABLED", "false")]
)
def test_a_setting_of_a_plugin_that_is_off_names_the_plugin(
    tmp_path: Path, variable: str, value: str
) -> None:
    off = {PLUGINS_OFF: "plone"}
    done = ragstone_command(tmp_path, "collections", **{variable: value}, **off)
    assert done.returncode == 1
    assert f"{variable}: The setting PLONE__" in done.stderr
    assert "is one of the plugin plone, which RAGSTONE_PLUGINS_OFF switches off" in done.stderr
    others = ragstone_command(tmp_path, "collections", PLONE__ADMIN="x", **off)
    assert others.returncode == 0, "the variable of another program"


def test_a_file_or_a_change_for_a_plugin_that_is_off_names_it(tmp_path: Path) -> None:
    off = {PLUGINS_OFF: "plone"}
    (tmp_path / "file.yaml").write_text("plone:\n  url: https://x.org/Plone\n")
    config = {"RAGSTONE_CONFIG": str(tmp_path / "file.yaml")}
    read = ragstone_command(tmp_path, "collections", **off, **config)
    changed = ragstone_command(tmp_path, "settings", "set", "plone.url", "https://x.org", **off)
    for done in (read, changed):
        assert done.returncode == 1
        assert "is one of the plugin plone, which" in done.stderr
    assert "file.yaml, line 2" in read.stderr
