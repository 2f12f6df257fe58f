"""Folders whose files change, stop answering or end a parser while Ragstone reads them."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ragstone.core.disk import PREFIX
from ragstone.ingest.file_threads import DEADLINE_SECONDS, MAX_THREADS
from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER
from tests.e2e.processes import run, run_json, serving, serving_until_killed
from tests.patience import wait_for
from tests.repetition import repeating
from tests.silent_mount import silent_mount

pytestmark = pytest.mark.real

FILES = 120
SECRET = "The password is hunter2."


@contextmanager
def flipping(files: list[Path], secret: Path) -> Iterator[None]:
    """Files that are swapped for links to the secret and back, over and over."""

    def flip() -> None:
        for file in files:
            link, own = file.with_name("link"), file.with_name("own")
            link.symlink_to(secret)
            file.rename(own)
            link.rename(file)
            own.rename(file)

    with repeating(flip):
        yield


def test_files_that_are_swapped_for_links_while_they_are_ingested_show_nothing_from_outside(
    tmp_path: Path,
) -> None:
    docs, data = tmp_path / "docs", tmp_path / "data"
    docs.mkdir()
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    files = [docs / f"{number}.txt" for number in range(FILES)]
    for file in files:
        file.write_text("Whales sing songs.".ljust(len(SECRET)))

    for _ in range(3):
        with flipping(files, secret):
            done = run(data, "ingest", str(docs))
        assert "Traceback" not in done.stderr
    found = run(data, "search", "What is the password?", "--limit", "100")

    assert "Whales" in found.stdout
    assert "hunter2" not in found.stdout + done.stdout + done.stderr
    assert b"hunter2" not in b"".join(
        file.read_bytes()
        for file in data.rglob("*")
        if file.is_file() and file.stat().st_size < 1e7
    )


def read_original(url: str, path: str) -> int:
    """The status of asking for a document's file."""
    name = "reading.original"
    body = {"principal": {}, "collection": "default", "path": path, "offset": 0, "limit": 100}
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=4 * DEADLINE_SECONDS)
    fingerprint = operations()[name].fingerprint
    headers = {"content-type": "application/json", OPERATION_HEADER: fingerprint}
    connection.request("POST", f"/local/call/{name}", json.dumps(body), headers)
    status = connection.getresponse().status
    connection.close()
    return status


def is_ready(url: str) -> bool:
    with suppress(urllib.error.HTTPError):
        urllib.request.urlopen(f"{url}/ready", timeout=20).close()
        return True
    return False


def test_a_mount_that_stops_answering_stops_neither_the_server_nor_its_end(tmp_path: Path) -> None:
    share, docs, data = tmp_path / "share", tmp_path / "docs", tmp_path / "data"
    for folder in (share, docs):
        folder.mkdir()
        (folder / "a.txt").write_text("Whales sing songs.")
    run_json(data, "ingest", str(share), str(docs))

    with (
        ExitStack() as mounted,
        serving(data) as url,
        ThreadPoolExecutor(3 * MAX_THREADS) as pool,
    ):
        assert wait_for(lambda: is_ready(url))
        mounted.enter_context(silent_mount(share))
        asked = [pool.submit(read_original, url, "/share/a.txt") for _ in range(2 * MAX_THREADS)]
        time.sleep(1)
        began = time.monotonic()
        assert is_ready(url)
        assert read_original(url, "/docs/a.txt") in (200, 503)
        assert [item.result() for item in asked] == [503] * len(asked)
        assert time.monotonic() - began < 3 * DEADLINE_SECONDS

        began = time.monotonic()
        assert read_original(url, "/share/a.txt") == 503
        assert read_original(url, "/docs/a.txt") == 200
        assert time.monotonic() - began < DEADLINE_SECONDS
        assert "does not answer" in run(data, "ingest", str(share)).stderr
        began = time.monotonic()
    assert time.monotonic() - began < DEADLINE_SECONDS, "SIGTERM waited for the mount"


def test_a_folder_that_never_answers_fails_an_ingest_with_one_line(tmp_path: Path) -> None:
    share, data = tmp_path / "share", tmp_path / "data"
    share.mkdir()

    with silent_mount(share):
        done = run(data, "ingest", str(share))

    assert done.returncode != 0
    assert "does not answer" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_what_a_killed_server_had_unpacked_is_removed_at_the_next_start(tmp_path: Path) -> None:
    temporary, data = tmp_path / "temporary", tmp_path / "data"
    temporary.mkdir()
    (tmp_path / "a.txt").write_text("Whales sing songs.")
    variables = {"TMPDIR": str(temporary)}

    def leftovers() -> list[Path]:
        return list(temporary.glob(f"{PREFIX}*"))

    with serving_until_killed(data, **variables):
        run(data, "ingest", str(tmp_path / "a.txt"))
        for folder in leftovers():
            (folder / "member.txt").write_text("x" * 1_000_000)
    left = len(leftovers())
    with serving(data, **variables):
        assert wait_for(lambda: not leftovers(), 30)

    assert left > 0
    assert not list(temporary.glob("ragstone*"))
