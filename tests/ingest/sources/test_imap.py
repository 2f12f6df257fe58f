"""Messages of a real Dovecot are documents."""

import io
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.header import Header
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import DocumentError, InputError, SourceUnavailable
from ragstone.core.sync import SourceRun
from ragstone.plugins.sources import imap
from ragstone.plugins.sources.imap import ImapOptions, Mailboxes
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.options import check_options
from ragstone.ports.sources import SourceParts
from tests.dovecot import PASSWORD, USER, Dovecot, run_dovecot
from tests.ingest.sources.certificates import write_certificate
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection

VARIABLE = "RAGSTONE_SOURCE_IMAP"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dovecot]:
    with run_dovecot(write_certificate(tmp_path_factory.mktemp("tls") / "server.pem")) as server:
        yield server


@pytest.fixture
def server(running: Dovecot, monkeypatch: pytest.MonkeyPatch) -> Dovecot:
    """A server that runs, with an empty inbox and nothing else."""
    monkeypatch.setenv(VARIABLE, PASSWORD)
    if running.process is None:
        running.start()
    with running.open() as client:
        for line in client.list()[1]:
            name = line.decode().rpartition(" ")[2]  # type: ignore[union-attr]
            if name != "INBOX":
                client.delete(name)
        if client.select("INBOX")[1] != [b"0"]:
            client.store("1:*", "+FLAGS", r"(\Deleted)")
            client.expunge()
    return running


def options_of(server: Dovecot, **options: str) -> dict[str, str]:
    place = {"host": "127.0.0.1", "port": str(server.port), "encryption": "none"}
    return {**place, "user": USER, "password": f"env:{VARIABLE}", **options}


@pytest.fixture
async def synced(tmp_path: Path, server: Dovecot) -> AsyncIterator[SyncedCollection]:
    """The inbox, with two messages."""
    server.put("There is soup.", "Menu")
    server.put("The director earns 9,000.", "Salaries")
    async with opened_collection(tmp_path, kind="imap", options=options_of(server)) as collection:
        yield collection


def open_mailboxes(server: Dovecot, folder: Path, **options: Any) -> Mailboxes:
    given = options_of(server, **options) | {"password": options.get("password", PASSWORD)}
    return Mailboxes(SourceParts("house", ImapOptions(**given), folder))  # type: ignore[arg-type]


async def list_paths(source: Mailboxes) -> list[str]:
    try:
        await source.check()
        return [item.path async for item in source.list_items("")]
    finally:
        await source.aclose()


def counts(run: SourceRun) -> tuple[int, ...]:
    """Added, changed, removed, unchanged, failed."""
    return run.added, run.changed, run.removed, run.unchanged, run.failed


@pytest.mark.real
async def test_messages_are_added_and_removed(synced: SyncedCollection, server: Dovecot) -> None:
    first = await synced.sync()
    second = await synced.sync()
    server.put("There is fish.", "Re: Menu", "INBOX", "References: <1@x.org>")
    server.remove((await uids(server))[0])
    third = await synced.sync()
    documents = await synced.documents()

    assert (first.state, first.error, counts(first)) == ("done", "", (2, 0, 0, 0, 0))
    assert (second.error, counts(second)) == ("", (0, 0, 0, 0, 0))
    assert counts(third) == (1, 0, 1, 0, 0)
    reply, salaries = sorted(documents.values(), key=lambda item: item.title or "")
    assert (reply.title, salaries.title) == ("Re: Menu", "Salaries")
    assert reply.path.startswith("/house/INBOX/Re: Menu ")
    assert reply.metadata is not None
    assert reply.metadata["thread"] == "<1@x.org>"
    assert reply.metadata["mailbox"] == "INBOX"
    assert any("There is fish." in text for text in await synced.texts())


async def uids(server: Dovecot, mailbox: str = "INBOX") -> list[int]:
    with server.open() as client:
        client.select(mailbox)
        return [int(uid) for uid in client.uid("SEARCH", "UNDELETED")[1][0].split()]


@pytest.mark.real
async def test_only_what_is_new_is_listed_and_a_message_that_comes_back_is_too(
    synced: SyncedCollection, server: Dovecot, monkeypatch: pytest.MonkeyPatch
) -> None:
    described: list[int] = []
    describe = Mailboxes._describe

    def count_described(source: Mailboxes, *given: Any) -> Any:
        described.extend(given[2])
        return describe(source, *given)

    monkeypatch.setattr(Mailboxes, "_describe", count_described)
    first, second = await uids(server)
    server.remove(first)
    await synced.sync()
    server.put("New.", "New")
    await synced.sync()
    with server.open() as client:
        client.select("INBOX")
        client.uid("STORE", str(first), "-FLAGS", r"(\Deleted)")
    run = await synced.sync()

    assert described == [second, second + 1, first]
    assert counts(run) == (1, 0, 0, 0, 0)
    assert len(await synced.documents()) == 3


@pytest.mark.real
async def test_a_mailbox_that_was_made_anew_is_read_anew(tmp_path: Path, server: Dovecot) -> None:
    server.put("There is soup.", "Menu", "Team")
    options = options_of(server, mailboxes="Team")
    async with opened_collection(tmp_path, kind="imap", options=options) as synced:
        await synced.sync()
        with server.open() as client:
            client.delete("Team")
        server.put("There is fish.", "Menu", "Team")
        run = await synced.sync()

        assert (run.state, run.added, run.failed) == ("done", 1, 0)
        [text] = await synced.texts()
        assert "There is fish." in text


@pytest.mark.real
async def test_a_pattern_means_what_people_keep(tmp_path: Path, server: Dovecot) -> None:
    for mailbox in ("Team/Shop", "Team/&AMQ-pfel", "Trash", "INBOX"):
        server.put("Text.", "A", mailbox)

    every = await list_paths(open_mailboxes(server, tmp_path, mailboxes="*"))
    some = await list_paths(open_mailboxes(server, tmp_path, mailboxes="Team/Ä*"))
    named = await list_paths(open_mailboxes(server, tmp_path, mailboxes="Trash"))

    assert {path.rpartition("/")[0] for path in every} == {"INBOX", "Team/Shop", "Team/Äpfel"}
    assert [path.rpartition("/")[0] for path in (*some, *named)] == ["Team/Äpfel", "Trash"]


@pytest.mark.real
async def test_subjects_of_any_kind_make_paths(tmp_path: Path, server: Dovecot) -> None:
    subjects = {
        Header("Grüße / 日本", "utf-8").encode(): "Grüße   日本",
        "=?iso-8859-1?q?caf=E9?=": "café",
        "=?nothing?q?x?=": "x",
        "": "Mail",
        "..": "Mail",
        "x" * 300: "x" * 80,
        "a\tb\x07": "a b",
    }
    for subject in subjects:
        server.put("Text.", subject)
    server.put("Text.", "caf\udce9".encode("utf-8", "surrogateescape").decode("latin-1"))

    paths = await list_paths(open_mailboxes(server, tmp_path))

    names = [path.removeprefix("INBOX/").rpartition(" ")[0] for path in paths]
    assert names[:-1] == list(subjects.values())
    assert all(path.isprintable() for path in paths)


@pytest.mark.real
async def test_a_large_message_is_read_in_parts_and_as_it_is(
    tmp_path: Path, server: Dovecot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imap, "CHUNK", 1_000)
    text = "".join(f"This is line {number}.\r\n" for number in range(400))
    server.put(text, "Long")
    source = open_mailboxes(server, tmp_path)
    await source.check()
    [item] = [item async for item in source.list_items("")]
    target = io.BytesIO()

    await source.fetch(item, target)
    server.remove((await uids(server))[0])
    with server.open() as client:
        client.select("INBOX")
        client.expunge()
    with pytest.raises(DocumentError, match="It is not there any more."):
        await source.fetch(item, io.BytesIO())
    await source.aclose()

    assert target.getvalue().decode().partition("\r\n\r\n")[2] == text
    assert abs(item.modified - datetime.now(UTC).timestamp()) < 600


@pytest.mark.real
async def test_a_password_that_is_no_good_any_more_removes_nothing_and_is_not_shown(
    synced: SyncedCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await synced.sync()
    monkeypatch.setenv(VARIABLE, "wrong-4711")

    run = await synced.sync()

    assert "cannot be read: it refuses the user or the password" in run.error
    assert "4711" not in run.error
    assert len(await synced.documents()) == 2


@pytest.mark.real
async def test_a_server_or_mailbox_that_is_gone_removes_nothing(
    tmp_path: Path, server: Dovecot
) -> None:
    server.put("There is soup.", "Menu", "Team")
    options = options_of(server, mailboxes="Team")
    async with opened_collection(tmp_path, kind="imap", options=options) as synced:
        await synced.sync()
        with server.open() as client:
            client.delete("Team")
        gone = await synced.sync()
        server.stop()
        silent = await synced.sync()

        assert gone.error.endswith("has no mailbox 'Team' for this user.")
        assert silent.error.endswith("cannot be read: nothing answers there.")
        assert len(await synced.documents()) == 1


@pytest.mark.real
async def test_a_mailbox_that_is_empty_at_once_is_held_back(
    synced: SyncedCollection, server: Dovecot
) -> None:
    await synced.sync()
    for uid in await uids(server):
        server.remove(uid)

    run = await synced.sync()

    assert (run.state, run.removed, run.held) == ("done", 0, 2)


@pytest.mark.real
@pytest.mark.parametrize("encryption", ["tls", "starttls"])
async def test_a_certificate_must_be_signed_by_somebody_known(
    tmp_path: Path, server: Dovecot, monkeypatch: pytest.MonkeyPatch, encryption: str
) -> None:
    server.put("There is soup.", "Menu")
    port = str(server.tls_port if encryption == "tls" else server.port)
    options = {"encryption": encryption, "port": port}
    with pytest.raises(SourceUnavailable, match="its certificate is not valid"):
        await list_paths(open_mailboxes(server, tmp_path, **options))
    monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))

    assert len(await list_paths(open_mailboxes(server, tmp_path, **options))) == 1


USUAL = {
    "CAPABILITY": b"* CAPABILITY IMAP4rev1\r\n# OK done\r\n",
    "LOGIN": b"# OK in\r\n",
    "LIST": b'* LIST () "." INBOX\r\n# OK done\r\n',
    "EXAMINE": b"* OK [UIDVALIDITY 7] x\r\n# OK done\r\n",
    "SEARCH": b"* SEARCH 1\r\n# OK done\r\n",
    "FETCH": b"* 1 FETCH (UID 1 BODY[] {1}\r\nx)\r\n# OK done\r\n",
}


@contextmanager
def scripted_server(answers: dict[str, bytes]) -> Iterator[int]:
    """Answers to commands, `#` for the tag; where that is no end, it hangs up."""

    def talk() -> None:
        connection, _ = listening.accept()
        with connection, connection.makefile("rwb", buffering=0) as lines:
            lines.write(b"* OK hello\r\n")
            while line := lines.readline().decode():
                tag, verb, *rest = line.split()
                answer = {**USUAL, **answers}[rest[0] if verb == "UID" else verb]
                lines.write(answer.replace(b"#", tag.encode()))
                if b"#" not in answer:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=talk)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    ("command", "answer", "sentence"),
    [
        ("LOGIN", b"# NO [LIMIT] busy\r\n", "refuses the user or the password ('[LIMIT] busy')"),
        ("LIST", b"# NO [THROTTLED] later\r\n", "it answers 'LIST failed: [THROTTLED] later'"),
        ("LIST", b"* BYE too many\r\n", "the connection broke"),
        ("EXAMINE", b"# NO [NOPERM] not yours\r\n", "it answers 'select failed: [NOPERM] not"),
        ("SEARCH", b"* SEARCH 1 2\r\n", "the connection broke"),
        ("FETCH", b"* 1 FETCH (UID 1 BODY[] {99}\r\nx", "the connection broke"),
        ("FETCH", b"* 1 FETCH (UID 1 BODY[] {1}\r\nx\r\n# OK done\r\n", "it answers"),
    ],
)
async def test_a_server_that_breaks_off_ends_the_run(
    tmp_path: Path, command: str, answer: bytes, sentence: str
) -> None:
    with scripted_server({command: answer}) as port:
        options = ImapOptions(host="127.0.0.1", port=port, encryption="none", user=USER)
        source = Mailboxes(SourceParts("house", options, tmp_path))
        with pytest.raises(SourceUnavailable) as raised:
            await list_paths(source)

    assert sentence in raised.value.message


@pytest.mark.parametrize(
    "options",
    [
        {"host": "x.org/a"},
        {"host": "x.org", "port": "0"},
        {"host": "x.org", "encryption": "sesame"},
        {"host": "x.org", "password": "sesame"},
        {"host": "x.org", "user": ""},
    ],
)
def test_options_that_cannot_be_right_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(InputError) as raised:
        check_options("imap", SOURCES.get("imap"), {"user": "ada", **options})

    assert "sesame" not in str(raised.value)
