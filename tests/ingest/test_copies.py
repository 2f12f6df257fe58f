"""Files with the content of another document: told to who may read that one, or passed over."""

import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from ragstone import build
from ragstone.core.turn import Principal
from ragstone.ingest.uploads import Spool
from ragstone.local import Ragstone
from ragstone.service import FileCopy, Handed, IngestRequest, Progress
from ragstone.settings import Settings

pytestmark = pytest.mark.slow

BEES, WASPS = b"Bees make honey in hives.", b"Wasps build nests of paper."
EVA, ADA = Principal(user="eva", groups=("hr",)), Principal(user="ada", groups=("it",))


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as opened:
        yield opened


async def upload(
    ragstone: Ragstone,
    data: Path,
    path: str,
    content: bytes = BEES,
    by: Principal | None = EVA,
    allowed: tuple[str, ...] = (),
    **wanted: Any,
) -> Progress:
    file = Spool(data).add(io.BytesIO(content), "a.txt")
    handed = Handed(file, path, f"upload:{path}", allowed=allowed)
    return await ingest(ragstone, IngestRequest(handed=(handed,), by=by, **wanted))


async def ingest(ragstone: Ragstone, request: IngestRequest) -> Progress:
    return [progress async for progress in ragstone.ingest(request)][-1]


async def list_paths(ragstone: Ragstone, principal: Principal = EVA) -> list[str]:
    return [item.path for item in await ragstone.documents(principal, "default")]


async def test_given_a_second_upload_of_a_file_then_it_is_told_and_kept(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    first = await upload(ragstone, data, "/a.txt")
    second = await upload(ragstone, data, "/b.txt")
    read = await ragstone.reading.read(EVA, "default", "/b.txt", 0, 100)

    assert (first.copies, second.copies) == ((), (FileCopy("/b.txt", "/a.txt"),))
    assert await list_paths(ragstone) == ["/a.txt", "/b.txt"]
    assert read.copies == ("/a.txt",)


async def test_given_copies_are_not_wanted_then_one_document_stays_and_comes_back_when_needed(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    await upload(ragstone, data, "/a.txt")
    second = await upload(ragstone, data, "/b.txt", skip_copies=True)
    paths = await list_paths(ragstone)
    await ragstone.delete(EVA, "default", ["/a.txt"])
    third = await upload(ragstone, data, "/b.txt", skip_copies=True)

    assert second.copies == (FileCopy("/b.txt", "/a.txt", skipped=True),)
    assert [(item.kind, item.files) for item in second.skipped] == [("copy of another document", 1)]
    assert (second.indexed, second.failures, paths) == (0, 0, ["/a.txt"])
    assert (third.indexed, await list_paths(ragstone)) == (1, ["/b.txt"])
    assert not list((data / "spool").iterdir())


async def test_given_a_copy_of_what_others_read_then_nothing_tells_of_it(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    await upload(ragstone, data, "/secret.txt", allowed=("group:hr",))
    ended = await upload(ragstone, data, "/b.txt", by=ADA, skip_copies=True)
    read = await ragstone.reading.read(ADA, "default", "/b.txt", 0, 100)

    assert (ended.copies, ended.skipped, ended.indexed) == ((), (), 1)
    assert read.copies == ()


async def test_given_a_copy_for_more_readers_then_it_is_not_passed_over_and_nobody_else_gains(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    await upload(ragstone, data, "/a.txt", allowed=("group:hr",))
    ended = await upload(ragstone, data, "/b.txt", allowed=("group:it",), skip_copies=True)

    assert ended.copies == (FileCopy("/b.txt", "/a.txt"),)
    assert await list_paths(ragstone, ADA) == ["/b.txt"]
    assert await list_paths(ragstone, EVA) == ["/a.txt"]


async def test_given_a_folder_with_copies_then_the_first_is_read_each_time(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (folder / name).write_bytes(BEES)
    (folder / "d.txt").write_bytes(WASPS)
    request = IngestRequest((str(folder),), skip_copies=True)
    first, second = await ingest(ragstone, request), await ingest(ragstone, request)

    assert await list_paths(ragstone) == ["/files/a.txt", "/files/d.txt"]
    assert (first.indexed, second.indexed, second.unchanged) == (2, 0, 2)
    assert [item.path for item in second.copies] == ["/files/b.txt", "/files/c.txt"]


async def test_given_a_renamed_file_then_it_is_no_copy_of_itself(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_bytes(BEES)
    (folder / "d.txt").write_bytes(WASPS)
    request = IngestRequest((str(folder),), prune=True, skip_copies=True)
    await ingest(ragstone, request)
    (folder / "a.txt").rename(folder / "b.txt")
    ended = await ingest(ragstone, request)

    assert (ended.copies, ended.pruned) == ((), 1)
    assert await list_paths(ragstone) == ["/files/b.txt", "/files/d.txt"]


async def test_given_an_upload_of_a_file_of_a_folder_then_it_is_told(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_bytes(BEES)
    await ingest(ragstone, IngestRequest((str(tmp_path / "a.txt"),)))
    ended = await upload(ragstone, tmp_path / "data", "/b.txt")

    assert ended.copies == (FileCopy("/b.txt", "/a.txt"),)


async def test_given_another_admin_then_the_job_does_not_name_what_its_owner_reads(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    await upload(ragstone, data, "/a.txt", allowed=("group:hr",))
    ended = await upload(ragstone, data, "/b.txt")
    mine = await ragstone.jobs.get(EVA, ended.job)
    theirs = await ragstone.jobs.get(ADA, ended.job, admin=True)
    listed = await ragstone.jobs.list("default", principal=ADA, admin=True)

    assert mine
    assert mine.progress["copies"]
    assert theirs
    assert "/a.txt" not in str(theirs)
    assert "/a.txt" not in str(listed)


READERS = st.sampled_from([(), ("group:hr",), ("group:it",), ("user:eva", "group:it")])
UPLOADS = st.lists(
    st.tuples(
        st.sampled_from(["/a.txt", "/b.txt", "/c.txt"]),
        st.sampled_from([BEES, WASPS]),
        st.sampled_from([EVA, ADA]),
        READERS,
        st.booleans(),
    ),
    min_size=2,
    max_size=6,
)


@settings(max_examples=20)
@given(UPLOADS)
async def test_copies_are_told_to_their_readers_alone_and_who_may_read_a_file_finds_its_content(
    tmp_path_factory: pytest.TempPathFactory,
    uploads: list[tuple[str, bytes, Principal, tuple[str, ...], bool]],
) -> None:
    data = tmp_path_factory.mktemp("data")
    async with build.open(Settings(ragstone_data=data)) as ragstone:
        await upload(ragstone, data, "/first.txt", b"Hornets are large wasps.")
        for path, content, by, allowed, skip in uploads:
            before = {who.user: await list_paths(ragstone, who) for who in (EVA, ADA)}
            ended = await upload(ragstone, data, path, content, by, allowed, skip_copies=skip)
            after = {who.user: await list_paths(ragstone, who) for who in (EVA, ADA)}
            assert all(copy.original in before[by.user] for copy in ended.copies)
            for who in (EVA, ADA):
                gained = set(after[who.user]) - set(before[who.user])
                assert not gained or not allowed or not {*allowed}.isdisjoint(who.names)
            skipped = any(copy.skipped for copy in ended.copies)
            for who in (EVA, ADA) if skipped else ():
                if not {*(allowed or ("*",))}.isdisjoint(who.names):
                    texts = [
                        (await ragstone.reading.read(who, "default", item, 0, 99)).text
                        for item in after[who.user]
                    ]
                    assert content.decode() in texts
