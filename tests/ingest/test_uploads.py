"""Documents that are handed over: named, described, indexed once, and gone from the spool."""

import io
import json
import os
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from ragstone import build
from ragstone.core.errors import StorageFull
from ragstone.core.turn import Principal
from ragstone.ingest.uploads import Spool
from ragstone.local import Ragstone
from ragstone.service import Handed, IngestRequest, Progress, wire
from ragstone.settings import Settings

pytestmark = pytest.mark.slow

TEXT = b"<html><title>From the page</title><body><p>Bees make honey.</p></body></html>"


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with build.open(Settings(ragstone_data=tmp_path)) as opened:
        yield opened


def handed(data: Path, content: bytes = TEXT, name: str = "bees.html", **changes: Any) -> Handed:
    file = Spool(data).add(io.BytesIO(content), name)
    given = Handed(file, "/zoo/bees", "https://x.org/bees", metadata={"uid": "u1"})
    return replace(given, **changes)


async def ended(ragstone: Ragstone, *given: Handed) -> Progress:
    request = IngestRequest(handed=given)
    return [progress async for progress in ragstone.ingest(request)][-1]


async def test_given_a_document_then_it_has_its_place_title_and_metadata(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    given = handed(tmp_path, title="All about bees", allowed=("group:zoo",), modified=5.0)
    assert (await ended(ragstone, given)).indexed == 1
    [document] = await ragstone.documents(Principal(groups=("zoo",)), "default")
    assert (document.path, document.title, document.modified) == ("/zoo/bees", "All about bees", 5)
    assert document.source == "https://x.org/bees"
    assert dict(document.metadata or {})["uid"] == "u1"
    assert await ragstone.documents(Principal(), "default") == []
    assert not list((tmp_path / "spool").iterdir())


async def test_given_no_title_then_the_content_says_it(ragstone: Ragstone, tmp_path: Path) -> None:
    await ended(ragstone, handed(tmp_path))
    [document] = await ragstone.documents(Principal(), "default")
    assert document.title == "From the page"


async def test_given_the_same_again_then_unchanged_unless_what_is_said_of_it_is_not(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ended(ragstone, handed(tmp_path))
    assert (await ended(ragstone, handed(tmp_path))).unchanged == 1
    assert (await ended(ragstone, handed(tmp_path, title="New"))).indexed == 1
    assert (await ended(ragstone, handed(tmp_path, title="New", metadata={}))).indexed == 1
    assert not list((tmp_path / "spool").iterdir())


async def test_given_a_job_that_was_cut_off_at_its_end_then_run_again_it_tells_the_same(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    good = handed(tmp_path)
    bad = handed(tmp_path, b"no pdf", "bad.pdf", path="/zoo/bad")
    first = await ended(ragstone, good, bad)
    again = await ended(ragstone, good, bad)
    assert (first.indexed, again.unchanged) == (1, 1)
    assert first.failed == again.failed
    assert "bad.pdf" in first.failed[0].reason


async def test_given_content_that_is_lost_then_that_is_said(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    given = handed(tmp_path)
    Spool(tmp_path).drop(given.file)
    assert "Send it again" in (await ended(ragstone, given)).failed[0].reason


def test_a_request_survives_json_and_the_wire(tmp_path: Path) -> None:
    request = IngestRequest(handed=(handed(tmp_path, allowed=("a", "b")),), paths=("/x",))
    assert IngestRequest.of(json.loads(json.dumps(asdict(request)))) == request
    assert wire.load(IngestRequest, wire.dump(request)) == request


def test_a_request_remembers_who_handed_it_over() -> None:
    by = Principal("acme", "eva", ("staff", "ops"))
    request = IngestRequest((), "zoo", "acme", by=by)
    assert IngestRequest.of(json.loads(json.dumps(asdict(request)))) == request


def test_given_content_of_an_owner_then_only_the_owner_finds_it(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    file = spool.add(io.BytesIO(TEXT), "bees.html", "aa")
    handle = Path(file).parent.name.partition("-")[0]
    assert spool.find_file(handle, "aa") == file
    for other, owner in (
        (handle, "bb"),
        (handle, ""),
        ("*", "aa"),
        ("../spool", "aa"),
        (handle[:-1], "aa"),
        ("", "aa"),
    ):
        assert spool.find_file(other, owner) is None
    spool.drop(file)
    assert spool.find_file(handle, "aa") is None


def test_given_old_content_that_nobody_took_then_it_is_swept(tmp_path: Path) -> None:
    old, new = (Path(handed(tmp_path).file) for _ in range(2))
    os.utime(old.parent, (1, 1))
    Spool(tmp_path).sweep()
    assert (old.exists(), new.exists()) == (False, True)


def test_given_a_folder_that_cannot_be_written_then_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("in the way")
    with pytest.raises(StorageFull, match="send it again"):
        handed(tmp_path)


def test_given_a_file_elsewhere_then_it_is_not_dropped(tmp_path: Path) -> None:
    other = tmp_path / "mine.txt"
    other.write_text("x")
    Spool(tmp_path).drop(str(other))
    assert other.exists()
