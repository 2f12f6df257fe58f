"""Files are read in processes that may die of them; whoever asked goes on."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.document import Place
from ragstone.core.errors import (
    ConfigError,
    DocumentError,
    TooLarge,
    UnreadableDocument,
)
from ragstone.ingest import child_process, parse_process
from ragstone.ingest.chunk import TextPiece, chunk
from ragstone.ingest.document import Block
from ragstone.ingest.parse import parse
from ragstone.ingest.parse_child import cut_long_block
from ragstone.ingest.parse_process import ParseProcesses
from ragstone.settings import IngestSettings
from tests.ingest import hostile_files
from tests.ingest.pdf_files import pdf
from tests.kept_parsers import end_kept_parsers
from tests.packages import Site
from tests.packages import site as site
from tests.patience import PATIENCE, until

pytestmark = pytest.mark.slow

SMALL = IngestSettings(parse_memory_mb=256)

FORMATS = """
import os, re, signal, socket, sys, time
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.types import Format

def crash(path, ending, max_bytes):
    print("About to crash", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)

def hang(path, ending, max_bytes):
    re.match("(a+)+$", "a" * 60 + "b")

def greedy(path, ending, max_bytes):
    held = []
    while True:
        held.append(b"x" * 1_000_000)

def endless(path, ending, max_bytes):
    return Parsed("", iter(lambda: Block("Some words. " * 1000), None))

def slow(path, ending, max_bytes):
    def blocks():
        for number in range(30):
            yield Block(f"Word {number}.")
            time.sleep(0.1)
    return Parsed("", blocks())

def child(path, ending, max_bytes):
    environment = " ".join(f"{name}={value}" for name, value in os.environ.items())
    return Parsed("", iter([Block(environment)]), metadata={"pid": os.getpid()})

def pages(path, ending, max_bytes):
    from ragstone.ingest.formats.recognition import CHOSEN
    def blocks():
        for number in range(8):
            CHOSEN.get().noticed()
            time.sleep(0.5)
        yield Block("Recognised.")
    return Parsed("", blocks())

def late(path, ending, max_bytes):
    from ragstone.ingest.formats.recognition import in_time
    def blocks():
        yield Block("Its own text.")
        try:
            in_time(lambda: time.sleep(60), 0.01)
        except TimeoutError:
            pass
    return Parsed("", blocks(), metadata={"pid": os.getpid()})

def wrong(path, ending, max_bytes):
    return Parsed("", iter([Block("Words", page="one")]))

def printing(path, ending, max_bytes):
    print("no message")
    sys.stdout.flush()
    os.write(1, b"x" * 100_000)
    return Parsed("", iter([Block("Printed.")]))

def calling(path, ending, max_bytes):
    socket.create_connection(("127.0.0.1", 9))

def panic(path, ending, max_bytes):
    raise SystemExit("a panic")

def counted(path, ending, max_bytes):
    def blocks():
        with path.open("a") as file:
            for number in range(2000):
                file.write(".")
                file.flush()
                yield Block("Some words. " * 500)
    return Parsed("", blocks())

def littering(path, ending, max_bytes):
    import tempfile
    with open(tempfile.mkdtemp() + "/member", "wb") as file:
        file.write(b"x" * 1_000_000)
    if path.stem == "killed":
        time.sleep(600)
    return Parsed("", iter([Block("Unpacked.")]))

TABLE = {name: Format(f"text/x-{name}", parse) for name, parse in list(globals().items())
         if callable(parse) and getattr(parse, "__module__", "") == __name__}
globals().update({name.upper(): one for name, one in TABLE.items()})
"""
NAMES = (
    "crash", "hang", "greedy", "endless", "slow", "child", "pages", "late", "wrong", "printing",
    "calling", "panic", "counted", "littering",
)  # fmt: skip


@pytest.fixture(autouse=True)
def formats(site: Site) -> None:
    points = {f"x{name}": f"hostile_formats:{name.upper()}" for name in NAMES}
    site.add("hostile-formats", {"ragstone.formats": points}, hostile_formats=FORMATS)


@pytest_asyncio.fixture
async def processes() -> AsyncIterator[ParseProcesses]:
    processes = ParseProcesses(SMALL, 1)
    yield processes
    await processes.aclose()


@pytest_asyncio.fixture
async def hasty() -> AsyncIterator[ParseProcesses]:
    """Those that give a small file two seconds."""
    processes = ParseProcesses(SMALL.model_copy(update={"parse_seconds": 2.0}), 1)
    yield processes
    await processes.aclose()


def written(folder: Path, name: str, text: str = "Some words.") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


async def pieces(processes: ParseProcesses, file: Path) -> list[TextPiece]:
    async with processes.open_reading(file, file.stat().st_size) as reading:
        return [piece async for batch in reading.batches() for piece in batch]


async def refusal(processes: ParseProcesses, file: Path) -> DocumentError:
    """Why a file cannot be read: one line; and other files still can."""
    with pytest.raises(DocumentError) as raised:
        await pieces(processes, file)
    assert file.name in raised.value.message or "this file" in raised.value.message
    assert "\n" not in raised.value.message
    assert [piece.text for piece in await pieces(processes, written(file.parent, "good.txt"))] == [
        "Some words."
    ]
    return raised.value


@pytest.fixture(autouse=True)
def alone() -> None:
    """No process of an earlier test is left: these are counted."""
    end_kept_parsers()


def children() -> list[psutil.Process]:
    """The processes that read files for this one."""
    return [child for child in psutil.Process().children() if _reads(child)]


def _reads(process: psutil.Process) -> bool:
    try:
        return "ragstone.ingest.parse_child" in process.cmdline()
    except psutil.NoSuchProcess:  # It ends just now, or has and nobody has asked how.
        return False


async def gone(pid: int) -> None:
    began = time.monotonic()
    while _runs(pid):
        assert time.monotonic() - began < PATIENCE
        await asyncio.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


async def test_given_a_file_then_its_chunks_are_those_of_this_process(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    file = pdf(tmp_path / "a.pdf", [["A heading", *["Some words of a line."] * 30]] * 40)
    settings = IngestSettings()
    expected = list(chunk(parse(file, settings).blocks, settings.chunk_size, 200))
    assert await pieces(processes, file) == expected
    async with processes.open_reading(file, file.stat().st_size) as reading:
        assert (reading.head.pages, reading.head.media_type) == (40, "application/pdf")


async def test_given_pages_to_recognise_then_each_adds_time_but_not_for_ever(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.ingest.parse_process.PAGE_SECONDS", 1.0)
    file = written(tmp_path, "a.xpages")
    enough = SMALL.model_copy(update={"parse_seconds": 1.0, "ocr_pages": 20})
    patient = ParseProcesses(enough, 1)
    assert len(await pieces(patient, file)) == 1
    await patient.aclose()
    hasty = ParseProcesses(enough.model_copy(update={"ocr_pages": 1}), 1)
    assert "seconds" in (await refusal(hasty, file)).message
    await hasty.aclose()


async def test_given_a_page_that_is_recognised_then_it_may_be_silent_for_both_times(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.ingest.parse_process.PAGE_SECONDS", 5.0)
    file = written(tmp_path, "a.xpages")  # Eight pages of half a second each.
    patient = SMALL.model_copy(update={"parse_seconds": 0.3})
    processes = ParseProcesses(patient, 1)
    assert len(await pieces(processes, file)) == 1
    await processes.aclose()


async def test_given_work_that_nobody_waits_for_then_its_process_gets_no_other_file(
    processes: ParseProcesses, tmp_path: Path, site: Site
) -> None:
    late, other = written(tmp_path, "a.xlate"), written(tmp_path, "a.xchild")
    async with processes.open_reading(late, late.stat().st_size) as reading:
        assert [item.text for batch in [b async for b in reading.batches()] for item in batch]
        first = reading.head.metadata["pid"]
    async with processes.open_reading(other, other.stat().st_size) as reading:
        assert reading.head.metadata["pid"] != first


async def test_given_many_files_then_one_process_reads_them_until_it_is_old(
    processes: ParseProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_process, "FILES", 3)
    file = written(tmp_path, "a.xchild")
    seen = []
    for _ in range(7):
        async with processes.open_reading(file, file.stat().st_size) as reading:
            seen.append(reading.head.metadata["pid"])
            assert [batch async for batch in reading.batches()]
    assert [seen.count(pid) for pid in dict.fromkeys(seen)] == [3, 3, 1]


async def test_given_nothing_to_read_for_a_while_then_no_process_stays(
    processes: ParseProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_process, "IDLE_SECONDS", 0.05)
    assert await pieces(processes, written(tmp_path, "a.txt"))
    [child] = children()
    await gone(child.pid)
    assert await pieces(processes, written(tmp_path, "a.txt"))


async def test_given_a_process_that_was_killed_while_idle_then_another_reads(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    assert await pieces(processes, written(tmp_path, "a.txt"))
    [child] = children()
    child.kill()
    child.wait(PATIENCE)
    assert await pieces(processes, written(tmp_path, "a.txt"))


async def test_given_a_parser_that_crashes_then_its_file_fails_and_the_signal_is_named(
    processes: ParseProcesses, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    error = await refusal(processes, written(tmp_path, "a.xcrash"))
    assert isinstance(error, UnreadableDocument)
    assert "SIGSEGV" in error.message
    assert "About to crash" in caplog.text


async def test_given_a_parser_that_hangs_then_its_file_fails_after_its_time(
    hasty: ParseProcesses, tmp_path: Path
) -> None:
    error = await refusal(hasty, written(tmp_path, "a.xhang"))
    assert "2 seconds" in error.message
    assert "INGEST__PARSE_SECONDS" in error.message
    assert len(children()) == 1


async def test_given_a_parser_that_is_slow_but_goes_on_then_it_has_more_time_for_a_larger_file(
    hasty: ParseProcesses, tmp_path: Path
) -> None:
    assert "more than 2 seconds" in (await refusal(hasty, written(tmp_path, "a.xslow"))).message
    large = written(tmp_path, "b.xslow", "x" * 400_000)
    assert await pieces(hasty, large)


async def test_given_a_parser_that_takes_too_much_memory_then_its_file_fails(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    error = await refusal(processes, written(tmp_path, "a.xgreedy"))
    assert isinstance(error, TooLarge)
    assert "256 MB" in error.message
    assert "INGEST__PARSE_MEMORY_MB" in error.message


async def test_given_reading_takes_much_memory_then_that_is_told_once(
    processes: ParseProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_process, "HEAVY_MB", 64)
    told: list[bool] = []
    async with processes.open_reading(
        written(tmp_path, "a.txt"), 100, lambda: told.append(True)
    ) as reading:
        assert [batch async for batch in reading.batches()]
    assert not told
    with pytest.raises(TooLarge):
        async with processes.open_reading(
            written(tmp_path, "a.xgreedy"), 100, lambda: told.append(True)
        ):
            pass
    assert told == [True]


async def test_given_text_without_end_then_the_file_fails(
    processes: ParseProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_process, "OUTPUT_BYTES", 1_000_000)
    error = await refusal(processes, written(tmp_path, "a.xendless"))
    assert isinstance(error, TooLarge)
    assert "more text" in error.message


async def test_given_chunks_are_not_taken_then_the_parser_waits(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    file = written(tmp_path, "a.xcounted", ".")
    async with processes.open_reading(file, file.stat().st_size) as reading:
        batches = aiter(reading.batches())
        await anext(batches)
        await asyncio.sleep(0.5)
        size = file.stat().st_size
        await asyncio.sleep(0.5)
        assert file.stat().st_size == size < 500


async def test_given_a_reader_that_leaves_then_the_process_ends_and_the_next_file_is_read(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    async with processes.open_reading(written(tmp_path, "a.xendless"), 100):
        [child] = children()
    await gone(child.pid)
    assert await pieces(processes, written(tmp_path, "a.txt"))


async def test_given_a_job_that_is_cancelled_then_its_process_ends(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    assert await until(lambda: not children()), "those of other tests end soon"
    task = asyncio.create_task(pieces(processes, written(tmp_path, "a.xhang")))
    assert await until(children)
    [child] = children()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone(child.pid)
    assert await pieces(processes, written(tmp_path, "a.txt"))


async def test_given_more_files_than_processes_then_they_wait_for_each_other(
    tmp_path: Path,
) -> None:
    processes = ParseProcesses(IngestSettings())
    files = [written(tmp_path, f"{number}.txt") for number in range(6)]
    read = await asyncio.gather(*(pieces(processes, file) for file in files))
    assert [len(item) for item in read] == [1] * 6
    assert 1 <= len(children()) <= 2
    await processes.aclose()


async def test_given_a_message_of_wrong_types_then_nothing_of_it_is_taken(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    error = await refusal(processes, written(tmp_path, "a.xwrong"))
    assert "cannot be read" in error.message


async def test_given_a_parser_that_prints_then_its_chunks_come_whole(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    [piece] = await pieces(processes, written(tmp_path, "a.xprinting"))
    assert piece.text == "Printed."


async def test_given_a_parser_that_calls_somebody_then_its_file_fails(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    assert "network" in (await refusal(processes, written(tmp_path, "a.xcalling"))).message


async def test_given_a_parser_that_would_end_its_process_then_only_its_file_fails(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    assert "a panic" in (await refusal(processes, written(tmp_path, "a.xpanic"))).message


@given(
    text=st.text(st.sampled_from("ab \n\U0001f600"), max_size=60),
    starts=st.sets(st.integers(0, 60)),
    most=st.integers(2, 10),
)
def test_given_a_long_block_then_its_parts_are_short_and_every_character_keeps_its_page(
    text: str, starts: set[int], most: int
) -> None:
    places = tuple(Place(start, number) for number, start in enumerate(sorted({0, *starts}), 1))
    parts = list(cut_long_block(Block(text, places=places), most))

    def pages(blocks: list[Block]) -> list[int]:
        return [
            max(place.page for place in block.places if place.start <= at)
            for block in blocks
            for at in range(len(block.text))
        ]

    assert "".join(part.text for part in parts) == text
    assert all(len(part.text) <= most for part in parts)
    assert pages(parts) == pages([Block(text, places=places)])


async def test_given_keys_in_the_environment_then_a_parser_has_none(
    processes: ParseProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM__API_KEY", "secret-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-key")
    [piece] = await pieces(processes, written(tmp_path, "a.xchild"))
    assert "PATH=" in piece.text
    assert "secret-key" not in piece.text


async def test_given_a_process_that_does_not_start_then_that_is_no_fault_of_the_file(
    processes: ParseProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_process, "_interpreter", lambda: str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="does not start"):
        await pieces(processes, written(tmp_path, "a.txt"))
    monkeypatch.undo()


async def test_given_the_beginning_is_asked_then_no_more_is_read(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    text = await processes.read_beginning(written(tmp_path, "a.xendless"), 100, 100)
    assert text == ("Some words. " * 10)[:100]
    assert len(children()) == 1


async def test_given_a_name_that_is_no_text_then_the_file_is_read(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt"))
    file.write_text("Some words.")
    assert len(await pieces(processes, file)) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="Elsewhere a busy parser outlives a moment.")
async def test_given_the_server_is_killed_then_no_process_stays_even_if_it_hangs(
    tmp_path: Path,
) -> None:
    program = """
import asyncio, sys
from pathlib import Path
from ragstone.ingest.parse_process import ParseProcesses
from ragstone.settings import IngestSettings
import psutil

async def main(file):
    processes = ParseProcesses(IngestSettings())
    task = asyncio.create_task(anext(aiter_of(processes, file)))
    while not (children := psutil.Process().children()):
        if task.done():
            task.result()
        await asyncio.sleep(0.05)
    await asyncio.sleep(1)
    print(children[0].pid, flush=True)
    await task

async def aiter_of(processes, file):
    async with processes.open_reading(file, file.stat().st_size) as reading:
        yield reading

asyncio.run(main(Path(sys.argv[1])))
"""
    file = written(tmp_path, "a.xhang")
    run = [sys.executable, "-c", program, str(file)]
    path = os.pathsep.join(sys.path)
    with subprocess.Popen(
        run, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
    ) as server:
        assert server.stdout
        child = int(server.stdout.readline())
        assert psutil.Process(child).cpu_percent(0.2) > 10
        server.send_signal(signal.SIGKILL)
    await gone(child)


HOSTILE: list[Callable[[Path], Path]] = [
    hostile_files.nested_forms,
    hostile_files.inflating_stream,
    hostile_files.zip_bomb,
    hostile_files.many_attributes,
    hostile_files.deep_elements,
    hostile_files.deep_json,
    hostile_files.long_line,
    hostile_files.long_word,
    hostile_files.dots,
    hostile_files.letters,
]


@pytest.mark.slow
@pytest.mark.parametrize("made", HOSTILE, ids=lambda made: made.__name__)
async def test_given_a_hostile_file_then_it_is_read_or_costs_one_line_and_the_next_is_read(
    made: Callable[[Path], Path], processes: ParseProcesses, tmp_path: Path
) -> None:
    file = made(tmp_path)
    try:
        read, said = await pieces(processes, file), ""
    except DocumentError as error:
        read, said = [], error.message
    assert read or said
    assert max([len(piece.text) for piece in read], default=0) <= 2 * SMALL.chunk_size
    assert "\n" not in said
    assert "the log says" not in said
    assert len(await pieces(processes, written(tmp_path, "good.txt"))) == 1


@pytest.mark.slow
async def test_given_a_page_that_inflates_without_end_then_its_memory_is_named(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    for file in (hostile_files.inflating_stream(tmp_path), hostile_files.nested_forms(tmp_path)):
        assert "256 MB" in (await refusal(processes, file)).message


def test_given_a_process_that_starts_then_it_loads_neither_settings_nor_parsers() -> None:
    program = (
        "import sys, ragstone.ingest.parse_child; "
        "print(*(name for name in sys.argv[1:] if name in sys.modules))"
    )
    heavy = ["asyncio", "lxml", "numpy", "pydantic", "pypdfium2", "ragstone.settings", "yaml"]
    run = [sys.executable, "-c", program, *heavy]
    assert not subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()


def test_given_a_markdown_file_then_what_only_other_formats_need_is_not_loaded() -> None:
    program = (
        "import sys, ragstone.ingest.formats.markdown; "
        "print(*(name for name in sys.argv[1:] if name in sys.modules))"
    )
    run = [sys.executable, "-c", program, "docutils", "numpy", "pypdfium2", "trafilatura"]
    assert not subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("name", ["killed.xlittering", "read.xlittering"])
async def test_what_a_parser_unpacked_is_gone_with_its_process(
    hasty: ParseProcesses, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    file = written(tmp_path, name)

    with suppress(UnreadableDocument):
        await pieces(hasty, file)
    await hasty.aclose()

    assert await until(lambda: not list((tmp_path / "temporary").iterdir()))


async def test_a_file_that_is_another_folders_by_now_is_not_read(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    secret = written(tmp_path, "secret.txt", "The password is hunter2.")
    (tmp_path / "docs").mkdir()
    file = tmp_path / "docs" / "a.txt"
    file.symlink_to(secret)

    assert "it is a link" in (await refusal(processes, file)).message
