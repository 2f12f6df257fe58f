"""The files of a real Samba are for those whom their ACLs let read."""

import grp
import pwd
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.plugins.sources.ntfs_rights import find_names, list_reading_sids, write_sid
from tests.ingest.sources.file_servers import PASSWORD, VARIABLE
from tests.ingest.sources.scripted_source import opened_collection
from tests.samba import (
    ALL,
    ALLOW,
    DENY,
    READ,
    WRITE,
    Samba,
    find_sid,
    require_samba,
    write_descriptor,
)

EVERYONE, ADMINISTRATORS, NOBODY_ANY_MORE = "S-1-1-0", "S-1-5-32-544", "S-1-5-21-1-2-3-4711"
MAIL, NEWS = ("mail", "news")


@pytest.fixture(scope="module")
def samba(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Samba]:
    require_samba()
    server = Samba(tmp_path_factory.mktemp("shared"))
    server.start()
    yield server
    server.stop()


@pytest.mark.real
async def test_a_file_is_for_those_whom_its_acl_lets_read(
    tmp_path: Path, samba: Samba, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, PASSWORD)
    mail = find_sid("group", grp.getgrnam("mail").gr_gid)
    news = find_sid("user", pwd.getpwnam("news").pw_uid)
    names = ("all", "mail", "news", "write", "denied", "empty", "inherits", "gone")
    for name in names:
        (samba.folder / f"{name}.txt").write_text(f"Text of {name}.")
    samba.give_rights("all.txt", (ALLOW, EVERYONE, READ), (ALLOW, news, ALL))
    samba.give_rights("mail.txt", (ALLOW, mail, READ), (DENY, EVERYONE, WRITE))
    samba.give_rights("news.txt", (ALLOW, news, ALL), (ALLOW, NOBODY_ANY_MORE, READ))
    samba.give_rights("write.txt", (ALLOW, EVERYONE, WRITE), (ALLOW, mail, READ))
    samba.give_rights("denied.txt", (DENY, news, READ), (ALLOW, EVERYONE, READ))
    samba.give_rights("empty.txt")
    samba.give_rights("inherits.txt", (ALLOW, EVERYONE, READ, 0x8), (ALLOW, mail, READ))
    samba.give_rights("gone.txt", (ALLOW, NOBODY_ANY_MORE, READ))
    options = {name: value for name, value in samba.options.items() if name != "rights"}
    async with opened_collection(tmp_path, kind="smb", options=options) as synced:
        first = await synced.sync()
        readers = {path: item.allowed for path, item in (await synced.documents()).items()}
        samba.give_rights("all.txt", (ALLOW, mail, READ))
        samba.give_rights("mail.txt", (DENY, news, READ), (ALLOW, mail, READ))
        second = await synced.sync()
        texts = await synced.texts()

    assert (first.state, first.error, first.added) == ("done", "", 5)
    assert first.notes == ("Left out, as they are for nobody: 3.",)
    assert readers == {
        "/house/all.txt": ("*",),
        "/house/mail.txt": ("group:mail",),
        "/house/news.txt": ("user:news",),
        "/house/write.txt": ("group:mail",),
        "/house/inherits.txt": ("group:mail",),
    }
    assert (second.rights, second.removed, second.changed) == (1, 1, 0)
    assert texts == set()


@pytest.mark.real
async def test_many_accounts_are_asked_for_in_parts(
    tmp_path: Path, samba: Samba, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, PASSWORD)
    for file in samba.folder.iterdir():
        file.unlink()
    (samba.folder / "a.txt").write_text("Text.")
    groups = grp.getgrall()[:45]
    entries = [(ALLOW, find_sid("group", group.gr_gid), READ) for group in groups]
    samba.give_rights("a.txt", *entries)
    options = {name: value for name, value in samba.options.items() if name != "rights"}
    async with opened_collection(tmp_path, kind="smb", options=options) as synced:
        run = await synced.sync()
        [document] = (await synced.documents()).values()

    assert run.error == ""
    assert set(document.allowed) == {f"group:{group.gr_name}" for group in groups}


@pytest.mark.parametrize(
    ("descriptor", "accounts"),
    [
        (write_descriptor([(ALLOW, MAIL_SID := "S-1-5-21-1-2-3-500", READ)]), (MAIL_SID,)),
        (write_descriptor([]), ()),
        (struct.pack("<BBHIIII", 1, 0, 0x8000, 0, 0, 0, 0), (EVERYONE,)),
        (struct.pack("<BBHIIII", 1, 0, 0x8004, 0, 0, 0, 0), (EVERYONE,)),
        (write_descriptor([(ALLOW, EVERYONE, 0x80000000)]), (EVERYONE,)),
        (write_descriptor([(9, EVERYONE, READ)]), ()),
        (write_descriptor([(ALLOW, EVERYONE, READ), (10, MAIL_SID, READ)]), ()),
        (write_descriptor([(ALLOW, EVERYONE, READ), (DENY, MAIL_SID, WRITE)]), (EVERYONE,)),
    ],
    ids=["one", "empty", "no list", "null", "generic", "condition", "denied", "write denied"],
)
def test_who_may_read_stands_in_the_descriptor(
    descriptor: bytes, accounts: tuple[str, ...]
) -> None:
    assert list_reading_sids(descriptor) == accounts


@given(st.data())
def test_a_damaged_descriptor_lets_nobody_in_whom_it_does_not_name(data: Any) -> None:
    whole = write_descriptor([(ALLOW, "S-1-5-21-1-2-3-500", READ)] * 3)
    cut = data.draw(st.integers(20, len(whole) - 1))

    with pytest.raises(ValueError, match="damaged"):
        list_reading_sids(whole[:cut])


@given(st.binary(max_size=400))
def test_an_answer_that_is_none_is_refused_or_names_nobody(answer: bytes) -> None:
    def talk(request: bytes) -> bytes:
        kind = 12 if request[2] == 11 else 2
        return bytes([5, 0, kind, 3]) + bytes(12) + bytes(8) + answer

    try:
        found = find_names(talk, ["S-1-1-0"])
    except ValueError:
        return
    assert set(found) <= {"S-1-1-0"}


def test_a_sid_is_written_as_it_is_read() -> None:
    sid = "S-1-5-21-3623811015-3361044348-30300820-1013"
    assert list_reading_sids(write_descriptor([(ALLOW, sid, READ)])) == (sid,)
    assert len(write_sid(sid)) == 28
