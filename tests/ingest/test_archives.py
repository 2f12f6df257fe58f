"""A ZIP archive is a folder: each member is a document of its own."""

import io
import os
import struct
import zipfile
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ragstone import build
from ragstone.core.errors import ArchiveBomb
from ragstone.core.turn import Principal
from ragstone.ingest.archives import list_members
from ragstone.ingest.parse import parse
from ragstone.ingest.pipeline import Pipeline
from ragstone.ingest.uploads import Spool
from ragstone.local import Ragstone
from ragstone.service import Handed, IngestRequest, Progress, Skipped
from ragstone.settings import IngestSettings, Settings
from tests.ingest.test_pipeline import House, house

__all__ = ["house"]

pytestmark = pytest.mark.slow

Members = Mapping[str, str | bytes]


def make_archive(members: Members) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def write_archive(house: House, members: Members, name: str = "all.zip") -> Path:
    file = house.documents / name
    file.write_bytes(make_archive(members))
    return file


async def ingest_again(house: House, **options: object) -> Progress:
    return await house.ingest(prune=True, **options)


async def test_each_member_is_a_document_with_its_own_path_title_and_text(house: House) -> None:
    inner = make_archive({"deep/tariff.txt": "The tariff is 77 francs."})
    write_archive(
        house,
        {
            "inner/lamp.md": "# The lamp\n\nIt was lit in 1899.",
            "report (final).txt": "Bees make honey.",
            "old.zip": inner,
        },
    )
    last = await house.ingest()
    known = await house.known()
    assert (last.indexed, last.failed) == (3, ())
    assert {path: item.title for path, item in known.items()} == {
        "/docs/all.zip/inner/lamp.md": "The lamp",
        "/docs/all.zip/report (final).txt": "report (final)",
        "/docs/all.zip/old.zip/deep/tariff.txt": "tariff",
    }
    assert {chunk.path: chunk.text for chunk in await house.chunks()} == {
        "/docs/all.zip/inner/lamp.md": "The lamp\n\nIt was lit in 1899.",
        "/docs/all.zip/report (final).txt": "Bees make honey.",
        "/docs/all.zip/old.zip/deep/tariff.txt": "The tariff is 77 francs.",
    }


async def test_only_members_that_changed_are_read_again_and_those_that_are_gone_go(
    house: House,
) -> None:
    file = write_archive(house, {"a.txt": "Whales sing.", "b.txt": "Cats purr.", "c.txt": "Dogs."})
    await house.ingest()
    write_archive(house, {"a.txt": "Whales sing.", "b.txt": "Cats meow."})
    os.utime(file, (1, 1))
    last = await ingest_again(house)
    assert (last.indexed, last.unchanged, last.pruned) == (1, 1, 1)
    assert {chunk.text for chunk in await house.chunks()} == {"Whales sing.", "Cats meow."}


@pytest.mark.parametrize("alone", [False, True], ids=["in a folder", "given alone"])
async def test_an_archive_that_is_gone_takes_its_members_along(house: House, alone: bool) -> None:
    house.write("note.txt", "A note.")
    file = write_archive(house, {"a.txt": "Whales sing."})
    names = ("all.zip",) if alone else ()
    await house.ingest(*names)
    file.unlink()
    assert (await house.ingest(*names, prune=True)).pruned == 1
    assert not [path for path in await house.known() if "all.zip" in path]


async def test_an_archive_that_became_unreadable_fails_and_its_members_stay(house: House) -> None:
    file = write_archive(house, {"a.txt": "Whales sing."})
    await house.ingest()
    file.write_bytes(file.read_bytes()[:-30])
    last = await ingest_again(house)
    assert [failure.path for failure in last.failed] == ["/docs/all.zip"]
    assert (last.pruned, {chunk.text for chunk in await house.chunks()}) == (0, {"Whales sing."})
    write_archive(house, {"a.txt": "Whales sing."})
    assert (await house.ingest()).failed == ()
    assert list(await house.known()) == ["/docs/all.zip/a.txt"]


async def test_a_damaged_member_fails_alone(house: House) -> None:
    data = bytearray(make_archive({"a.txt": "Whales sing in the deep.", "b.txt": "Cats purr."}))
    data[data.index(b"a.txt") + 8] ^= 0xFF
    (house.documents / "all.zip").write_bytes(data)
    last = await house.ingest()
    assert [failure.path for failure in last.failed] == ["/docs/all.zip/a.txt"]
    assert {chunk.text for chunk in await house.chunks()} == {"Cats purr."}


async def test_what_is_no_document_is_counted_by_type(house: House) -> None:
    write_archive(
        house, {"a.txt": "Whales.", "b.bin": b"1", "__MACOSX/a.txt": "x", ".c/d.txt": "y"}
    )
    write_archive(house, {"b.bin": b"1"}, "none.zip")
    last = await house.ingest()
    assert set(last.skipped) == {Skipped(".bin", 2), Skipped("hidden", 2)}
    assert [failure.reason for failure in last.failed] == [
        "none.zip holds no file that can be read."
    ]


async def test_what_is_said_of_an_archive_holds_for_its_members(house: House) -> None:
    write_archive(house, {"de/a.txt": "Wale.", "b.txt": "Cats."})
    house.write("all.zip.meta.yaml", "year: 2023\ntitle: All")
    house.write("ragstone.yaml", "'all.zip/de/*': {language: German}")
    await house.ingest(allowed=("group:zoo",))
    known = await house.known()
    about = {path: (item.title, dict(item.metadata or {})) for path, item in known.items()}
    assert about == {
        "/docs/all.zip/de/a.txt": ("a", {"year": 2023, "language": "German"}),
        "/docs/all.zip/b.txt": ("b", {"year": 2023}),
    }
    assert {item.allowed for item in known.values()} == {("group:zoo",)}


async def test_a_watcher_sees_the_members_of_the_archive_that_changed(house: House) -> None:
    house.write("note.txt", "A note.")
    file = write_archive(house, {"a.txt": "Whales.", "b.txt": "Cats."})
    await house.ingest()
    write_archive(house, {"b.txt": "Cats purr."})
    last = await ingest_again(house, only=(str(file),))
    assert (last.total, last.indexed, last.pruned) == (1, 1, 1)
    file.unlink()
    assert (await ingest_again(house, only=(str(file),))).pruned == 1
    assert list(await house.known()) == ["/docs/note.txt"]


async def test_archives_too_deep_in_others_are_refused(house: House) -> None:
    data = make_archive({"t.txt": "Deepest."})
    for level in ("third", "second", "first"):
        data = make_archive({f"{level}.zip": data, f"{level}.txt": f"In the {level}."})
    (house.documents / "all.zip").write_bytes(data)
    last = await house.ingest()
    assert [failure.path for failure in last.failed] == [
        "/docs/all.zip/first.zip/second.zip",
    ]
    assert {chunk.text for chunk in await house.chunks()} == {"In the first.", "In the second."}


def test_archives_in_an_archive_unpack_to_no_more_than_one_may(tmp_path: Path) -> None:
    inner = make_archive({"a.txt": os.urandom(600_000).hex()})
    path = tmp_path / "all.zip"
    path.write_bytes(make_archive({f"{number}.zip": inner for number in range(3)}))
    refusals = [member.refusal for member in list_members(path, 4_000_000)]
    assert [bool(refusal) for refusal in refusals] == [False, True, True]
    with pytest.raises(ArchiveBomb):
        list(list_members(path, 1_000_000))


def test_names_in_another_encoding_are_told_by_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    data = make_archive({"XXXX1.txt": "first", "XXXX2.txt": "second"})
    path.write_bytes(data.replace(b"XXXX", "文章".encode("cp932")))
    assert [member.path for member in list_members(path, 1 << 20)] == ["文章1.txt", "文章2.txt"]
    parsed = parse(path / "文章2.txt", IngestSettings())
    assert [block.text for block in parsed.blocks] == ["second"]


def test_names_in_several_encodings_are_each_read_right(tmp_path: Path) -> None:
    old = {
        "議事録.txt": "cp932",
        "売上報告.txt": "cp932",
        "会议纪要.txt": "gbk",
        "财务报表.txt": "gbk",
        "Übersicht.txt": "cp437",
        "Größen.txt": "cp437",
        "отчёт.txt": "utf-8",
    }
    written = [name.encode(encoding) for name, encoding in old.items()]
    places = [f"{number}{'_' * (len(name) - 1)}" for number, name in enumerate(written)]
    data = make_archive({"naïve.txt": "flagged", **dict.fromkeys(places, "text")})
    for place, name in zip(places, written, strict=True):
        data = data.replace(place.encode(), name)
    (path := tmp_path / "all.zip").write_bytes(data)

    assert {member.path for member in list_members(path, 1 << 20)} == {"naïve.txt", *old}


def test_a_name_that_an_archive_gives_in_utf_8_too_is_that(tmp_path: Path) -> None:
    name = "résumé.txt".encode("cp850")
    told = "resumé.txt".encode()
    member = zipfile.ZipInfo("x" * len(name))
    field = struct.pack("<HHBL", 0x7075, 5 + len(told), 1, zlib.crc32(name)) + told
    member.extra = struct.pack("<HH", 0x9999, 2) + b"??" + field
    with zipfile.ZipFile(path := tmp_path / "all.zip", "w") as archive:
        archive.writestr(member, "text")
    path.write_bytes(path.read_bytes().replace(b"x" * len(name), name))

    assert [member.path for member in list_members(path, 1 << 20)] == ["resumé.txt"]


def test_members_of_one_name_are_two_documents_and_none_leads_out(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    path.write_bytes(make_archive({"../../a.txt": "Outside.", "a.txt": "Inside.", "/b\\c.txt": ""}))
    assert [member.path for member in list_members(path, 1 << 20)] == [
        "a.txt",
        "a-2.txt",
        "b/c.txt",
    ]
    assert [
        block.text
        for name in ("a.txt", "a-2.txt")
        for block in parse(path / name, IngestSettings()).blocks
    ] == ["Outside.", "Inside."]


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with build.open(Settings(ragstone_data=tmp_path)) as opened:
        yield opened


def hand(data: Path, members: Members, **changes: object) -> Handed:
    file = Spool(data).add(io.BytesIO(make_archive(members)), "all.zip")
    return replace(Handed(file, "/up/all.zip", "upload:/up/all.zip"), **changes)  # type: ignore[arg-type]


async def ingest_handed(ragstone: Ragstone, *given: Handed) -> Progress:
    return [step async for step in ragstone.ingest(IngestRequest(handed=given))][-1]


async def paths_of(ragstone: Ragstone) -> list[str]:
    return sorted(
        document.path
        for document in await ragstone.documents(Principal(groups=("zoo",)), "default")
    )


async def test_an_uploaded_archive_is_its_members_and_the_next_upload_replaces_them(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    readers = {"allowed": ("group:zoo",), "metadata": {"year": 2023, "title": "All"}}
    first = hand(tmp_path, {"a.txt": "Whales sing.", "b/c.txt": "Cats purr."}, **readers)
    assert (await ingest_handed(ragstone, first)).indexed == 2
    documents = await ragstone.documents(Principal(groups=("zoo",)), "default")
    assert {(document.path, document.title, document.source) for document in documents} == {
        ("/up/all.zip/a.txt", "a", "upload:/up/all.zip/a.txt"),
        ("/up/all.zip/b/c.txt", "c", "upload:/up/all.zip/b/c.txt"),
    }
    assert {dict(document.metadata or {})["year"] for document in documents} == {2023}
    assert await ragstone.documents(Principal(), "default") == []
    second = hand(tmp_path, {"a.txt": "Whales sing.", "d.txt": "Dogs."}, **readers)
    again = await ingest_handed(ragstone, second)
    assert (again.indexed, again.unchanged) == (1, 1)
    assert await paths_of(ragstone) == ["/up/all.zip/a.txt", "/up/all.zip/d.txt"]
    assert not list((tmp_path / "spool").iterdir())


async def test_an_upload_that_was_cut_off_goes_on_with_the_members_that_are_missing(
    ragstone: Ragstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = hand(tmp_path, {"a.txt": "Whales sing.", "b.txt": "Cats purr."})

    async def die(*_: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(Pipeline, "_forget_former", die)
        await ingest_handed(ragstone, given)
    assert Path(given.file).exists()
    last = await ingest_handed(ragstone, given)
    assert (last.indexed, last.unchanged, last.failed) == (0, 2, ())
    assert (await ingest_handed(ragstone, given)).failed == ()
    assert await paths_of(ragstone) == ["/up/all.zip/a.txt", "/up/all.zip/b.txt"]
    assert not list((tmp_path / "spool").iterdir())


async def test_an_archive_that_is_to_be_one_document_is_one(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    given = hand(tmp_path, {"a.txt": "Whales sing.", "b.txt": "Cats purr."}, single=True)
    await ingest_handed(ragstone, given)
    assert await paths_of(ragstone) == ["/up/all.zip"]


async def test_what_cannot_be_unpacked_of_an_upload_fails_alone_and_leaves_nothing_behind(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    given = hand(tmp_path, {"a.txt": "Whales sing in the deep.", "b.txt": "Cats purr."})
    data = bytearray(Path(given.file).read_bytes())
    data[data.index(b"a.txt") + 8] ^= 0xFF
    Path(given.file).write_bytes(data)
    last = await ingest_handed(ragstone, given)
    assert [failure.path for failure in last.failed] == ["/up/all.zip/a.txt"]
    cut = hand(tmp_path, {"a.txt": "Whales sing."}, path="/up/cut.zip")
    Path(cut.file).write_bytes(Path(cut.file).read_bytes()[:-30])
    last = await ingest_handed(ragstone, cut)
    assert [failure.path for failure in last.failed] == ["/up/cut.zip"]
    assert "/up/all.zip/b.txt" in await paths_of(ragstone)
    assert not list((tmp_path / "spool").iterdir())


@pytest.mark.parametrize("given", ["folder", "archive"])
async def test_members_are_for_whom_the_folder_of_their_archive_is(
    house: House, given: str
) -> None:
    closed = house.documents / "pay"
    closed.mkdir()
    (closed / "ragstone.yaml").write_text("readers: [group:hr]\n")
    (closed / "all.zip").write_bytes(
        make_archive({"deep/salaries.txt": "The director earns 9,000.", "menu.txt": "Soup."})
    )
    await house.ingest(*(["pay/all.zip"] if given == "archive" else []))
    allowed = {document.allowed for document in (await house.known()).values()}
    assert len(await house.known()) == 2
    assert allowed == {("group:hr",)}


async def test_what_an_archive_closes_by_a_file_of_its_own_is_not_opened(house: House) -> None:
    write_archive(
        house,
        {
            "pay/ragstone.yaml": "readers: [group:hr]",
            "pay/salaries.txt": "The director earns 9,000.",
            "pay/old.zip": make_archive({"before.txt": "The director earned 8,000."}),
            "other/ragstone.yaml": "'*.txt': {year: 2024}",
            "other/menu.txt": "Soup.",
        },
    )
    last = await house.ingest()
    assert [chunk.path for chunk in await house.chunks()] == ["/docs/all.zip/other/menu.txt"]
    assert {failure.path for failure in last.failed} == {
        "/docs/all.zip/pay/salaries.txt",
        "/docs/all.zip/pay/old.zip",
    }
    assert "Unpack the archive" in last.failed[0].reason
