"""What servers of files get wrong is told in a sentence, and reaches no further than it must."""

import asyncio
import io
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import asyncssh
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from ragstone.core.errors import ConfigError, DocumentError, InputError, SourceUnavailable
from ragstone.core.sync import SourceItem
from ragstone.plugins.sources import remote_files
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.options import check_options
from ragstone.plugins.sources.remote_files import RemoteFiles, explain_connection, explain_status
from ragstone.ports.sources import ItemSource, SourceParts
from tests.ingest.sources.certificates import write_certificate

HEAD = b'<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">'


def make_entry(href: str, inside: str = "<D:resourcetype/>") -> bytes:
    return (
        f"<D:response><D:href>{href}</D:href><D:propstat><D:prop>{inside}</D:prop>"
        "<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
    ).encode()


FOLDER = "<D:resourcetype><D:collection/></D:resourcetype>"
WHOLE = HEAD + make_entry("/a/", FOLDER) + make_entry("/a/x.txt") + b"</D:multistatus>"


def make_answer(status: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def open_source(kind: str, folder: Path, **options: str) -> RemoteFiles:
    declared = SOURCES.get(kind)
    opened = declared.open(SourceParts("house", declared.options(**options), folder))
    assert isinstance(opened, ItemSource)
    return cast(RemoteFiles, opened)


@asynccontextmanager
async def served_webdav(
    folder: Path, answer: Callable[[str], bytes | None], tls: ssl.SSLContext | None = None
) -> AsyncIterator[RemoteFiles]:
    """A source of a server that answers to the line of a request; never, where that is None."""
    talks: list[asyncio.Task[object] | None] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.append(asyncio.current_task())
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, _ = head.decode().partition("\r\n")
        if (said := answer(line)) is None:
            await reader.read()
        else:
            writer.write(said)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    scheme = "https" if tls else "http"
    source = open_source("webdav", folder, url=f"{scheme}://127.0.0.1:{port}/a")
    try:
        yield source
    finally:
        await source.aclose()
        server.close()
        await asyncio.gather(*filter(None, talks))


async def list_paths(source: RemoteFiles) -> list[str]:
    return [item.path async for item in source.list_items("")]


async def fetch(source: RemoteFiles, path: str) -> bytes:
    content = io.BytesIO()
    await source.fetch(SourceItem(path, "1", path), cast(BinaryIO, content))
    return content.getvalue()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (make_answer("401 No"), "it refuses the user or the password (401)"),
        (make_answer("404 No"), "it is not there (404)"),
        (make_answer("302 Go", b"", "Location: http://10.0.0.1/"), "moved to 'http://10.0.0.1/'"),
        (make_answer("200 OK", b"<html/>"), "it is no folder of WebDAV"),
        (make_answer("500 No"), "it answers that it cannot (500)"),
        (make_answer("207 M", WHOLE[:-20]), "its listing is cut off or no XML"),
        (make_answer("207 M", WHOLE)[:-20], "the connection broke"),
        (make_answer("207 M", b"hello"), "its listing is cut off or no XML"),
        (b"hello\r\n\r\n", "the connection broke"),
        (
            make_answer("207 M", HEAD + make_entry("/b/secret.txt") + b"</D:multistatus>"),
            "its listing is not whole, or of another folder",
        ),
        (
            make_answer(
                "207 M",
                HEAD
                + b"<D:response><D:href>/a/x/</D:href><D:status>HTTP/1.1 403 No</D:status>"
                + b"</D:response></D:multistatus>",
            ),
            "its listing is not whole, or of another folder",
        ),
    ],
    ids=[
        *("401", "404", "redirect", "web page", "500", "cut off", "length", "text", "no HTTP"),
        *("elsewhere", "part refused"),
    ],
)
async def test_a_listing_that_is_not_whole_ends_the_run(
    tmp_path: Path, answer: bytes, sentence: str
) -> None:
    async with served_webdav(tmp_path, lambda line: answer) as source:
        with pytest.raises(SourceUnavailable) as raised:
            await list_paths(source)

    assert sentence in raised.value.message


async def test_a_server_that_asks_for_patience_is_given_it(tmp_path: Path) -> None:
    answer = make_answer("429 Slow", b"", "Retry-After: 700")
    async with served_webdav(tmp_path, lambda line: answer) as source:
        with pytest.raises(SourceUnavailable) as raised:
            await source.check()

    assert raised.value.retry_after == 700


async def test_a_server_that_says_nothing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_files, "MAX_SECONDS", 0.1)
    async with served_webdav(tmp_path, lambda line: None) as source:
        with pytest.raises(SourceUnavailable, match="it took too long to answer"):
            await source.check()


async def test_folders_without_an_end_end_the_run(tmp_path: Path) -> None:
    def answer(line: str) -> bytes:
        place = line.split()[1]
        inside = make_entry(place, FOLDER) + make_entry(f"{place}loop/", FOLDER)
        return make_answer("207 M", HEAD + inside + b"</D:multistatus>")

    async with served_webdav(tmp_path, answer) as source:
        with pytest.raises(SourceUnavailable, match="its folders have no end"):
            await list_paths(source)


async def test_xml_that_grows_when_it_is_read_fills_no_memory(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    bomb = (
        f'<!DOCTYPE x [<!ENTITY e0 "0123456789">{entities}]>'
        '<D:multistatus xmlns:D="DAV:"><D:response><D:href>/a/&e9;</D:href></D:response>'
        "</D:multistatus>"
    )
    async with served_webdav(tmp_path, lambda _: make_answer("207 M", bomb.encode())) as source:
        with pytest.raises(SourceUnavailable, match="its listing is cut off or no XML"):
            await list_paths(source)


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        ("403 No", "It cannot be fetched: it does not let this user read that (403)."),
        ("404 No", "It cannot be fetched: it is not there (404)."),
        ("500 No", "It cannot be fetched: it answers that it cannot (500)."),
    ],
)
async def test_a_file_that_cannot_be_had_fails_alone(
    tmp_path: Path, status: str, sentence: str
) -> None:
    async with served_webdav(tmp_path, lambda line: make_answer(status)) as source:
        with pytest.raises(DocumentError) as raised:
            await fetch(source, "x.txt")

    assert raised.value.message == sentence


@pytest.mark.parametrize("answer", [make_answer("503 No"), make_answer("200 OK", b"xx")[:-1]])
async def test_a_server_that_breaks_while_a_file_is_read_ends_the_run(
    tmp_path: Path, answer: bytes
) -> None:
    async with served_webdav(tmp_path, lambda line: answer) as source:
        with pytest.raises(SourceUnavailable):
            await fetch(source, "x.txt")


async def test_a_certificate_that_nobody_signed_is_not_taken(tmp_path: Path) -> None:
    tls = make_context(tmp_path / "server.pem")
    async with served_webdav(tmp_path, lambda line: make_answer("207 M", WHOLE), tls) as source:
        with pytest.raises(SourceUnavailable, match="its certificate is not valid .self-signed"):
            await source.check()


def make_context(file: Path) -> ssl.SSLContext:
    """What a server needs whose certificate it has signed itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(write_certificate(file))
    return context


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (socket.gaierror(-2, "Name or service not known"), "no machine of this name is known"),
        (ConnectionRefusedError(111, "refused"), "nothing answers there"),
        (TimeoutError(), "it took too long to answer"),
        (ConnectionResetError(104, "reset"), "the connection broke"),
    ],
    ids=["name", "refused", "slow", "reset"],
)
def test_a_failed_connection_is_told_by_its_cause(error: OSError, sentence: str) -> None:
    with pytest.raises(EndpointConnectionError) as raised:
        try:
            raise error
        except OSError as first:
            raise EndpointConnectionError(endpoint_url="https://x.org") from first

    assert str(explain_connection(raised.value)) == sentence


def test_a_pause_that_is_no_number_is_not_taken() -> None:
    assert explain_status(503, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}).retry_after is None


@pytest.mark.parametrize(
    ("code", "status", "sentence"),
    [
        ("NoSuchBucket", 404, "there is no such bucket"),
        ("InvalidAccessKeyId", 403, "it refuses the key or the secret (InvalidAccessKeyId)"),
        ("AccessDenied", 403, "it does not let this user read that (403)"),
        ("SlowDown", 503, "it takes no requests for now (503)"),
    ],
)
async def test_what_s3_says_is_told(tmp_path: Path, code: str, status: int, sentence: str) -> None:
    source = open_source("s3", tmp_path, bucket="files", endpoint="http://127.0.0.1:1")
    told = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    told["ResponseMetadata"]["HTTPHeaders"] = {}  # type: ignore[assignment]

    trouble = source._explain(ClientError(cast(Any, told), "GetObject"))

    assert str(trouble) == sentence


@asynccontextmanager
async def served_sftp(
    folder: Path, owner_key: asyncssh.SSHKey, *, told: bool = True
) -> AsyncIterator[dict[str, str]]:
    """A server of a folder, for who has its key or a password; yields the options of a source.
    Whether files are folders may not be told."""

    class Login(asyncssh.SSHServer):
        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, password: str) -> bool:
            return (username, password) == ("ada", "sesame")

        def public_key_auth_supported(self) -> bool:
            return True

        def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
            return key.public_data == owner_key.public_data

    class Files(asyncssh.SFTPServer):
        def __init__(self, channel: "asyncssh.SSHServerChannel[bytes]") -> None:
            super().__init__(channel, chroot=str(folder))

        async def scandir(self, path: bytes) -> AsyncIterator[asyncssh.SFTPName]:
            async for name in super().scandir(path):
                yield name if told else asyncssh.SFTPName(name.filename)

    server = await asyncssh.listen(
        "127.0.0.1", 0, server_factory=Login, server_host_keys=[owner_key], sftp_factory=Files
    )
    port = server.get_port()
    login = {"user": "ada", "password": "sesame"}
    host_key = f"127.0.0.1 {owner_key.export_public_key().decode().strip()} a comment"
    yield {"host": "127.0.0.1", "port": str(port), "path": "/", "host_key": host_key, **login}
    server.close()
    await server.wait_closed()


@pytest.fixture(scope="module")
def key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "x.txt").write_text("Text.")
    return folder


async def test_links_on_an_sftp_server_are_passed_over(
    tmp_path: Path, files: Path, key: asyncssh.SSHKey
) -> None:
    (files / "sub" / "loop").symlink_to("..")
    (files / "sub" / "link.txt").symlink_to("x.txt")
    async with served_sftp(files, key) as options:
        source = open_source("sftp", tmp_path, **options)
        assert await list_paths(source) == ["sub/x.txt"]
        assert await fetch(source, "sub/x.txt") == b"Text."
        await source.aclose()


async def test_names_in_another_encoding_are_listed_and_lead_to_their_files(
    tmp_path: Path, files: Path, key: asyncssh.SSHKey
) -> None:
    name = "caf\xe9".encode("latin-1").decode("utf-8", "surrogateescape")
    (files / name).mkdir()
    (files / name / "y.txt").write_text("Coffee.")
    async with served_sftp(files, key) as options:
        source = open_source("sftp", tmp_path, **options)
        assert set(await list_paths(source)) == {"sub/x.txt", f"{name}/y.txt"}
        assert await fetch(source, f"{name}/y.txt") == b"Coffee."
        await source.aclose()


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"host_key": ""}, "its host key is not the known one: see host_key"),
        ({"host_key": "other"}, "its host key is not the known one: see host_key"),
        ({"password": "wrong"}, "it refuses the user, the password or the key"),
        ({"path": "/none"}, "it is not there"),
        ({"host": "x..org"}, "no machine of this name is known"),
        ({"key_file": "/none"}, "key_file names no private key without a passphrase"),
        ({"key_file": "locked"}, "key_file names no private key without a passphrase"),
    ],
    ids=["unknown host", "other host key", "password", "folder", "host", "key file", "passphrase"],
)
async def test_what_is_wrong_with_an_sftp_server_is_told(
    tmp_path: Path,
    files: Path,
    key: asyncssh.SSHKey,
    monkeypatch: pytest.MonkeyPatch,
    other: dict[str, str],
    sentence: str,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    if other.get("host_key"):
        made = asyncssh.generate_private_key("ssh-ed25519")
        other = {"host_key": made.export_public_key().decode()}
    if other.get("key_file") == "locked":
        key.write_private_key(tmp_path / "locked", "pkcs8-pem", passphrase="secret")
        other = {"key_file": str(tmp_path / "locked")}
    async with served_sftp(files, key) as options:
        source = open_source("sftp", tmp_path, **{**options, **other})
        with pytest.raises(SourceUnavailable) as raised:
            await source.check()
        await source.aclose()

    assert raised.value.message.endswith(f" cannot be read: {sentence}.")


async def test_a_listing_that_does_not_tell_folders_from_files_ends_the_run(
    tmp_path: Path, files: Path, key: asyncssh.SSHKey
) -> None:
    async with served_sftp(files, key, told=False) as options:
        source = open_source("sftp", tmp_path, **options)
        with pytest.raises(SourceUnavailable, match="does not say what is a folder"):
            await list_paths(source)
        await source.aclose()


async def test_a_key_lets_in_who_has_no_password(
    tmp_path: Path, files: Path, key: asyncssh.SSHKey
) -> None:
    key.write_private_key(tmp_path / "key")
    async with served_sftp(files, key) as options:
        place = {name: value for name, value in options.items() if name != "password"}
        source = open_source("sftp", tmp_path, key_file=str(tmp_path / "key"), **place)
        assert await list_paths(source) == ["sub/x.txt"]
        await source.aclose()


async def test_a_host_that_the_server_knows_needs_no_key(
    tmp_path: Path, files: Path, key: asyncssh.SSHKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    async with served_sftp(files, key) as options:
        known = f"[127.0.0.1]:{options['port']} {key.export_public_key().decode()}"
        (tmp_path / ".ssh" / "known_hosts").write_text(known)
        source = open_source("sftp", tmp_path, **{**options, "host_key": ""})
        await source.check()
        await source.aclose()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("webdav", {"url": "ftp://x.org/a"}),
        ("webdav", {"url": "https://x.org/a?b"}),
        ("webdav", {"url": "https://x.org:port/a"}),
        ("webdav", {"url": "https://x.org/a\nb"}),
        ("webdav", {"url": "https://ada:sesame@x.org/a"}),
        ("webdav", {"url": "https://x.org/a", "password": "sesame"}),
        ("s3", {"bucket": "a/../b"}),
        ("s3", {"bucket": "früchte"}),
        ("s3", {"bucket": "files", "endpoint": "http://file_server:9000"}),
        ("s3", {"bucket": "files", "region": ""}),
        ("s3", {"bucket": "files", "key": "AKIA"}),
        ("s3", {"bucket": "files", "endpoint": "files.x.org"}),
        ("smb", {"host": "x.org/a", "user": "ada", "share": "files"}),
        ("smb", {"host": "x.org", "user": "ada", "share": "a\\b"}),
        ("smb", {"host": "x.org", "user": "ada", "share": "files", "path": "a:b"}),
        ("smb", {"host": "x.org", "user": "ada", "share": "files", "password": "sesame"}),
        ("sftp", {"host": "x.org/a", "user": "ada"}),
        ("sftp", {"host": "x.org"}),
        ("sftp", {"host": "x.org", "user": "ada", "port": "0"}),
        ("sftp", {"host": "x.org", "user": "ada", "key_file": "id_ed25519"}),
        ("sftp", {"host": "x.org", "user": "ada", "host_key": "sesame"}),
        ("sftp", {"host": "x.org", "user": "ada", "host_key": "ssh-ed25519 AAAAsesame"}),
    ],
)
def test_options_that_cannot_be_right_are_refused(kind: str, options: dict[str, str]) -> None:
    with pytest.raises(InputError) as raised:
        check_options(kind, SOURCES.get(kind), options)

    assert "sesame" not in str(raised.value)


@pytest.mark.parametrize(
    "kind",
    [
        *("webdav", "s3", "sftp", "smb", "imap", "mediawiki", "sql"),
        *("sharepoint", "drive", "confluence", "jira"),
    ],
)
def test_only_the_operator_has_the_server_reach_others(kind: str) -> None:
    assert SOURCES.get(kind).of_server


@pytest.mark.parametrize(
    ("kind", "library"),
    [
        ("s3", "aiobotocore.config"),
        ("sftp", "asyncssh"),
        ("smb", "smbclient"),
        ("imap", "imapclient"),
        ("drive", "jwt"),
    ],
)
def test_without_its_library_a_kind_says_what_to_install(
    kind: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    monkeypatch.delitem(__import__("sys").modules, f"ragstone.plugins.sources.{kind}", False)

    with pytest.raises(ConfigError, match=rf"pip install 'ragstone\[{kind}\]'"):
        SOURCES.get(kind)
