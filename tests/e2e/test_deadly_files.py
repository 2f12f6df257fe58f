"""Files that would end the server, through the real command."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.e2e.processes import RAGSTONE, environment, here, json_here, run, serving
from tests.ingest.hostile_files import nested_forms
from tests.packages import Site
from tests.packages import site as site
from tests.patience import PATIENCE, wait_for

pytestmark = pytest.mark.real

FORMATS = """
import os, signal, time
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.types import Format

def deadly(path, ending, max_bytes):
    # As in a container whose memory is over: all its processes are killed.
    held = b"x" * 300_000_000
    time.sleep(1)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)

def slow(path, ending, max_bytes):
    def blocks():
        for number in range(600):
            yield Block(f"Word {number}.")
            time.sleep(0.1)
    return Parsed("", blocks())

DEADLY, SLOW = Format("text/x-deadly", deadly), Format("text/x-slow", slow)
"""


def listed(data: Path) -> dict[str, dict[str, object]]:
    """The documents by path."""
    return {item["path"]: item for item in json_here(data, "documents")["documents"]}


@pytest.fixture
def path(site: Site) -> str:
    points = {"xdeadly": "deadly_formats:DEADLY", "xslow": "deadly_formats:SLOW"}
    site.add("deadly-formats", {"ragstone.formats": points}, deadly_formats=FORMATS)
    return os.pathsep.join(sys.path)


def test_given_a_pdf_that_takes_all_memory_then_it_costs_one_line_and_the_rest_is_indexed(
    tmp_path: Path,
) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    nested_forms(documents)
    (documents / "whales.txt").write_text("Whales sing in the deep sea.")
    done = run(tmp_path / "data", "ingest", str(documents), INGEST__PARSE_MEMORY_MB="256")
    said = done.stdout + done.stderr
    assert "nested.pdf: took more than 256 MB of memory" in " ".join(said.split())
    assert "Traceback" not in said
    [indexed] = [item for item in listed(tmp_path / "data").values() if item["chunks"]]
    assert indexed["path"] == "/documents/whales.txt"


def test_given_a_file_that_kills_the_server_twice_then_it_fails_and_the_job_goes_on(
    tmp_path: Path, path: str
) -> None:
    data, documents = tmp_path / "data", tmp_path / "documents"
    documents.mkdir()
    for name in ("a.txt", "b.xdeadly", "c.txt"):
        (documents / name).write_text("Whales sing in the deep sea.")
    killed = run(data, "ingest", str(documents), PYTHONPATH=path)
    assert killed.returncode == -signal.SIGKILL
    second = subprocess.Popen(
        [RAGSTONE, "serve", "--port", "0"], env=environment(data, PYTHONPATH=path)
    )
    assert second.wait(PATIENCE) == -signal.SIGKILL
    with serving(data, PYTHONPATH=path):
        assert wait_for(lambda: not json_here(data, "status")["jobs"])
        known = listed(data)
    assert known["/documents/a.txt"]["chunks"] == known["/documents/c.txt"]["chunks"] == 1
    assert "ended 2 times while b.xdeadly was read" in known["/documents/b.xdeadly"]["error"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_given_a_command_is_stopped_in_a_file_then_no_process_stays_and_no_traceback_is_printed(
    tmp_path: Path, path: str, number: signal.Signals
) -> None:
    file = tmp_path / "a.xslow"
    file.write_text("Some words.")
    command = subprocess.Popen(
        [RAGSTONE, "ingest", str(file)],
        env=environment(tmp_path / "data", PYTHONPATH=path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A suite that runs in the background was told to ignore it, and so would the command be.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    found: list[psutil.Process] = []

    def reading() -> list[psutil.Process]:
        every = psutil.Process(command.pid).children()
        with suppress(psutil.Error):  # another child, such as git, may end in this very moment
            found[:] = [item for item in every if "ragstone.ingest.parse_child" in item.cmdline()]
        return found

    assert wait_for(reading)
    assert wait_for(lambda: (tmp_path / "data" / "reading").is_dir())
    command.send_signal(number)
    said, _ = command.communicate()
    assert command.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in said
    assert not psutil.wait_procs(found, timeout=30)[1]
    assert here(tmp_path / "data", "status").returncode == 0
