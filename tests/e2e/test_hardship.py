"""What must not break an index: kill -9, a full disk, a server that goes away."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import kill9
from tests.documents import DOCUMENTS
from tests.e2e.processes import RAGSTONE, environment, here, json_here, run, serving
from tests.patience import PATIENCE, wait_for

pytestmark = pytest.mark.real


def test_given_kills_at_any_instant_then_the_index_is_as_if_nothing_had_happened(
    tmp_path: Path,
) -> None:
    documents = tmp_path / "documents"
    kill9.write(documents, 40)
    calm, _ = kill9.ingest(tmp_path / "calm", documents)
    for after in (0.4, 0.8, 1.0, 1.3, 1.7):
        kill9.ingest_until_killed(tmp_path / "killed", documents, after)
    kill9.ingest(tmp_path / "killed", documents)
    assert kill9.contents(tmp_path / "killed") == calm


def test_given_a_server_killed_in_an_ingest_then_the_next_one_finishes_it(
    tmp_path: Path,
) -> None:
    data, documents = tmp_path / "data", tmp_path / "documents"
    kill9.write(documents, 60)
    process = subprocess.Popen(
        [RAGSTONE, "serve", "--port", "0"], env=environment(data), stdout=subprocess.DEVNULL
    )
    try:
        assert wait_for(lambda: (data / "server.json").exists())
        client = subprocess.Popen(
            [RAGSTONE, "ingest", str(documents)],
            env=environment(data),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert wait_for(lambda: here(data, "documents", "--json").stdout.count('"path"') > 5)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    _, errors = client.communicate(timeout=PATIENCE)
    assert client.returncode == 1
    assert "Traceback" not in errors
    with serving(data):
        assert wait_for(lambda: (now := status(data))["documents"] == 60 and not now["jobs"])
    assert here(data, "ingest", str(documents)).stdout.startswith("0 indexed, 60 unchanged")


def status(data: Path) -> dict[str, object]:
    found: dict[str, object] = json_here(data, "status")
    return found


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 MB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(place)]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("this sandbox does not allow mounting")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_given_a_full_disk_then_a_clear_line_and_what_was_indexed_still_answers(
    small_disk: Path, tmp_path: Path
) -> None:
    data = small_disk / "data"
    assert here(data, "ingest", str(DOCUMENTS)).returncode == 0
    filler = small_disk / "filler"
    more = tmp_path / "more"
    kill9.write(more, 5)
    with serving(data):
        free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
        filler.write_bytes(b"\0" * (free - 20 * 2**20))
        assert "31 days" in run(data, "ask", "How long does a full charge last?").stdout
        refused(run(data, "ingest", str(more)))
        assert "31 days" in run(data, "ask", "How long does a full charge last?").stdout
    refused(run(data, "ingest", str(more)))
    filler.unlink()
    assert "31 days" in here(data, "ask", "How long does a full charge last?").stdout
    assert here(data, "ingest", str(more)).returncode == 0
    assert json_here(data, "status")["documents"] == 10


def refused(done: "subprocess.CompletedProcess[str]") -> None:
    assert done.returncode == 1
    assert "Free some space" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
