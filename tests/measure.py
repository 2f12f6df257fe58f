"""What a run of the suite costs: processor seconds of each file, and the memory of all processes.

`python -m tests.measure [arguments of pytest]` runs pytest and prints both when it has ended.
Processor seconds hardly depend on what else a machine does, seconds by the clock do.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

NOTES = "RAGSTONE_TEST_NOTES"
TICKS = os.sysconf("SC_CLK_TCK")


def family(root: int) -> set[int]:
    """The process of this number and all that it and its children have started."""
    children = defaultdict(list)
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(entry.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children[parent].append(int(entry.parent.name))
    found, waiting = set(), [root]
    while waiting:
        found.add(process := waiting.pop())
        waiting += children[process]
    return found


def processor_seconds(process: int) -> float:
    """What a process and those of its children that have ended have used."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS


def megabytes(process: int) -> float:
    """The memory of a process, where what several share is counted once in all."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


class Notes:
    """The plugin of each worker: a line about each test."""

    def __init__(self, path: str) -> None:
        self._path = path

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before, started = self._used(), time.monotonic()
        result = yield
        note = {
            "test": item.nodeid,
            "cpu": self._used() - before,
            "wall": time.monotonic() - started,
            "mb": megabytes(os.getpid()),
            "worker": os.getpid(),
        }
        with open(self._path, "a") as file:
            file.write(json.dumps(note) + "\n")
        return result

    @staticmethod
    def _used() -> float:
        return sum(map(processor_seconds, family(os.getpid())))


def pytest_configure(config: pytest.Config) -> None:
    if path := os.environ.get(NOTES):
        config.pluginmanager.register(Notes(path))


def run(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(os.environ.get(NOTES) or Path(folder) / "notes")
        path.touch()
        command = [sys.executable, "-m", "pytest", "-p", "tests.measure", *arguments]
        started = time.monotonic()
        process = subprocess.Popen(command, env=os.environ | {NOTES: str(path)})
        peak: dict[str, float] = {}
        files, before = 0, in_memory()
        while process.poll() is None:
            members = family(process.pid)
            sizes = {member: megabytes(member) for member in members}
            if sum(sizes.values()) > sum(peak.values()):
                peak = {f"{name(member)} {member}": size for member, size in sizes.items()}
            files = max(files, in_memory() - before)
            time.sleep(1)
        report(path, peak, time.monotonic() - started)
        print(f"most files in memory at once: {files / 2**20:.0f} MB")
        return process.returncode


def in_memory() -> int:
    """Bytes of files that are kept in memory, of whomever."""
    return shutil.disk_usage("/dev/shm").used


def name(process: int) -> str:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "?"
    return b" ".join(words)[-60:].decode(errors="replace").strip()


def report(path: Path, peak: dict[str, float], seconds: float) -> None:
    files: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0, 0])
    for line in path.read_text().splitlines():
        note = json.loads(line)
        sums = files[note["test"].partition("::")[0]]
        sums[0] += note["cpu"]
        sums[1] += note["wall"]
        sums[2] = max(sums[2], note["mb"])
        sums[3] += 1
    print("    cpu s   wall s  worker MB  tests  file")
    for file, (cpu, wall, size, count) in sorted(files.items(), key=lambda pair: -pair[1][0]):
        print(f"{cpu:9.1f}{wall:9.1f}{size:11.0f}{count:7.0f}  {file}")
    cpu = sum(sums[0] for sums in files.values())
    children = os.times()
    print(f"in the tests {cpu:.0f} processor seconds, {seconds:.0f} by the clock")
    print(f"pytest and what it awaited: {children[2] + children[3]:.0f} processor seconds")
    print(f"most memory at once: {sum(peak.values()):.0f} MB")
    for what, size in sorted(peak.items(), key=lambda pair: -pair[1])[:20]:
        print(f"{size:9.0f} MB  {what}")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
