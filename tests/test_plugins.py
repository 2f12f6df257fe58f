"""The core works without any of its plugins, and says what is not a plugin."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from PIL import Image

import ragstone
from ragstone.registry import PLUGINS_OFF, find_plugins
from tests.e2e.processes import serving

PACKAGE = Path(ragstone.__file__).parent

COMMAND = "from ragstone.cli import main; main()"

CORE_TESTS = ("tests/answer", "tests/core", "tests/engine", "tests/retrieve", "tests/understand")
"""Folders whose tests need no plugin."""


def ragstone_command(
    folder: Path, *arguments: str, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run `ragstone` on a data directory of its own in `folder`."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, "--data", str(folder / "data"), *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def index_page(folder: Path, **environment: str) -> None:
    page = folder / "opening.md"
    page.write_text("# Opening hours\n\nThe museum opens at 9:30 and closes at 18:00.\n")
    done = ragstone_command(folder, "ingest", str(page), **environment)
    assert done.returncode == 0, done.stderr


def check_answer(folder: Path, **environment: str) -> None:
    """Ask what is on the page."""
    done = ragstone_command(folder, "ask", "When does the museum open?", **environment)
    assert done.returncode == 0, done.stderr
    assert "The museum opens at 9:30" in done.stdout


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data directory that holds the page."""
    folder = tmp_path_factory.mktemp("indexed")
    index_page(folder)
    return folder


def _leave_out_plugins(folder: str, names: list[str]) -> set[str]:
    return {"__pycache__", *(("plugins",) if Path(folder) == PACKAGE else ())} & set(names)


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package without its plugins."""
    place = tmp_path_factory.mktemp("core")
    shutil.copytree(PACKAGE, place / "ragstone", ignore=_leave_out_plugins)
    return place


@pytest.mark.slow
def test_the_core_alone_answers(core: Path, tmp_path: Path) -> None:
    index_page(tmp_path, PYTHONPATH=str(core))
    check_answer(tmp_path, PYTHONPATH=str(core))
    listed = ragstone_command(tmp_path, "plugins", "dialects", "--json", PYTHONPATH=str(core))
    assert [row["name"] for row in json.loads(listed.stdout)["points"]["dialects"]] == [
        "openai",
        "mcp",
    ]


@pytest.mark.real
def test_the_core_alone_passes_its_tests(core: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "not slow and not real", *CORE_TESTS],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"PYTHONPATH": str(core)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.slow
@pytest.mark.parametrize("name", find_plugins())
def test_without_a_plugin_the_rest_answers(name: str, indexed: Path) -> None:
    check_answer(indexed, **{PLUGINS_OFF: name})


def test_what_a_plugin_adds_is_gone_where_it_is_off(tmp_path: Path) -> None:
    off = {PLUGINS_OFF: "formats, graph, plone"}
    page = tmp_path / "page.rst"
    page.write_text("Title\n=====\n\nA text.\n")
    done = ragstone_command(tmp_path, "ingest", str(page), **off)
    assert done.returncode == 1
    assert "is of a type that cannot be read (.rst)" in done.stderr + done.stdout
    for name in ("graph", "plone"):
        assert f"No such command '{name}'" in ragstone_command(tmp_path, name, **off).stderr


def test_without_its_plugin_a_picture_says_what_would_read_its_text(tmp_path: Path) -> None:
    Image.new("RGB", (200, 100), "white").save(tmp_path / "sign.png")
    done = ragstone_command(tmp_path, "ingest", str(tmp_path / "sign.png"), **{PLUGINS_OFF: "ocr"})
    assert done.returncode == 1
    message = f"To read its text, switch the plugin ocr on ({PLUGINS_OFF})."
    assert message in done.stdout + done.stderr


CALL = """
from ragstone import Client
with Client(FOLDER) as rag:
    print(rag.call("graph.show", collection="default").waiting)
"""


def test_an_operation_of_a_plugin_is_called_by_name_and_gone_where_it_is_off(
    indexed: Path,
) -> None:
    program = CALL.replace("FOLDER", repr(str(indexed / "data")))
    asked = [sys.executable, "-c", program]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr
    off = os.environ | {PLUGINS_OFF: "graph"}
    done = subprocess.run(asked, env=off, capture_output=True, text=True, check=False)
    assert "There are no operations 'graph': the plugin that brings them is" in done.stderr


def request_status(url: str, body: dict[str, object]) -> int:
    """Post JSON; the status of the answer."""
    data, head = json.dumps(body).encode(), {"content-type": "application/json"}
    try:
        with urlopen(Request(url, data, head), timeout=60) as response:
            return int(response.status)
    except HTTPError as error:
        return error.code


@pytest.mark.slow
def test_without_responses_and_vector_stores_chats_are_answered(indexed: Path) -> None:
    asked = "When does the museum open?"
    chat = {"model": "ragstone", "messages": [{"role": "user", "content": asked}]}
    with serving(indexed / "data", **{PLUGINS_OFF: "responses"}) as url:
        assert request_status(f"{url}/v1/chat/completions", chat) == 200
        assert request_status(f"{url}/v1/responses", {"model": "ragstone", "input": asked}) == 404
        assert request_status(f"{url}/v1/vector_stores", {"name": "ferries"}) == 404


def test_a_name_that_is_not_a_plugin_s_is_refused(tmp_path: Path) -> None:
    done = ragstone_command(tmp_path, "collections", **{PLUGINS_OFF: "plonk"})
    assert done.returncode == 1
    assert "'plonk', which is not a plugin: name some of agent, audit," in done.stderr


def test_the_plugins_are_listed_with_what_they_are_for(tmp_path: Path) -> None:
    listed = ragstone_command(tmp_path, "plugins", "--json", **{PLUGINS_OFF: "plone"})
    found = json.loads(listed.stdout)["plugins"]
    assert set(found) == set(find_plugins()) - {"plone"}
    assert all(text.endswith(".") for text in found.values())


@pytest.mark.parametrize(
    ("plugin", "variables"),
    [
        ("redis", {"CACHE__URL": "redis://127.0.0.1:9"}),
        ("mongodb", {"CONVERSATION__URL": "mongodb://127.0.0.1:9"}),
    ],
)
def test_an_address_of_a_plugin_that_is_off_names_the_plugin(
    tmp_path: Path, plugin: str, variables: dict[str, str]
) -> None:
    done = ragstone_command(tmp_path, "collections", **variables, **{PLUGINS_OFF: plugin})
    assert done.returncode == 1
    assert f"the plugin {plugin}, which RAGSTONE_PLUGINS_OFF switches off" in done.stderr
    assert next(iter(variables)) in done.stderr
