"""A folder that does not answer keeps nothing waiting but who asked for it."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragstone.core.errors import FilesUnavailable
from ragstone.ingest import file_threads
from ragstone.ingest.file_threads import MAX_THREADS, report_progress, run
from tests.patience import until, wait_for

SHARE = "/srv/share"


class Mount:
    """Folders below SHARE, which answer when `awake` is set."""

    def __init__(self) -> None:
        self.awake = threading.Event()

    def read(self, path: str = f"{SHARE}/a.txt") -> str:
        report_progress(path)
        self.awake.wait()
        return "Whales sing."


@pytest.fixture
def mount(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mount]:
    monkeypatch.setattr(file_threads, "DEADLINE_SECONDS", 0.3)
    monkeypatch.setattr(file_threads, "mount_points", lambda: frozenset({SHARE}))
    mount = Mount()
    yield mount
    mount.awake.set()
    assert wait_for(lambda: not file_threads._running)


async def test_what_does_not_answer_is_given_up_with_one_sentence(mount: Mount) -> None:
    with pytest.raises(FilesUnavailable, match=f"{SHARE}/a.txt does not answer: nothing came"):
        await run([SHARE], mount.read)


async def test_what_goes_on_slowly_is_not_given_up(mount: Mount) -> None:
    def read() -> int:
        for number in range(12):
            report_progress(f"{SHARE}/{number}.txt")
            time.sleep(0.1)
        return number

    assert await run([SHARE], read) == 11


async def test_more_stuck_calls_than_threads_keep_no_other_folder_waiting(mount: Mount) -> None:
    stuck = [run([f"{SHARE}/{n}"], mount.read) for n in range(3 * MAX_THREADS)]

    results = await asyncio.gather(*stuck, return_exceptions=True)

    assert {type(result) for result in results} == {FilesUnavailable}
    assert await run(["/home"], lambda: "Owls hunt.") == "Owls hunt."


@pytest.mark.parametrize("folder", [SHARE, f"{SHARE}/other", "/srv"])
async def test_a_mount_that_does_not_answer_takes_no_more_threads(
    mount: Mount, folder: str
) -> None:
    with pytest.raises(FilesUnavailable):
        await run([SHARE], mount.read)
    called: list[bool] = []

    with pytest.raises(FilesUnavailable):
        await run([folder], called.append, True)

    assert not called


async def test_a_mount_that_answers_again_is_read_again(mount: Mount) -> None:
    with pytest.raises(FilesUnavailable):
        await run([SHARE], mount.read)
    mount.awake.set()

    assert await until(lambda: not file_threads._running)
    assert await run([SHARE], mount.read) == "Whales sing."


async def test_who_stops_waiting_leaves_the_thread_to_others(mount: Mount) -> None:
    tasks = [asyncio.create_task(run([SHARE], mount.read)) for _ in range(2 * MAX_THREADS)]
    await asyncio.sleep(0.05)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert await run(["/home"], lambda: "Owls hunt.") == "Owls hunt."


def test_a_program_ends_while_a_file_does_not_answer(tmp_path: Path) -> None:
    program = """
import asyncio, threading
from ragstone.core.errors import FilesUnavailable
from ragstone.ingest import file_threads
file_threads.DEADLINE_SECONDS = 0.1
async def main():
    try:
        await file_threads.run(["/srv"], threading.Event().wait)
    except FilesUnavailable as error:
        print(error)
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    assert "does not answer" in done.stdout
