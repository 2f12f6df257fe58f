"""A whole session, watched by the kernel: what it opens, and whom it speaks to."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ragstone
from tests.documents import DOCUMENTS
from tests.e2e.processes import RAGSTONE, environment
from tests.patience import PATIENCE

EVALUATION = DOCUMENTS.parent / "evaluation"

SESSION = """
set -e
"$PYTHON" -c "$LOOPBACK"
"$RAGSTONE" serve --port 0 &
server=$!
tries=0
until [ -f "$RAGSTONE_DATA/server.json" ]; do
  tries=$((tries + 1)); [ $tries -lt 1000 ]; sleep 0.3
done
"$RAGSTONE" ingest "$DOCUMENTS"
"$RAGSTONE" ingest "$GERMAN" --collection german
"$RAGSTONE" ask "How long does a full battery charge last without sun?"
"$RAGSTONE" ask "Was kostet eine Jahreskarte?" --collection german
kill $server
wait $server
"$RAGSTONE" ask "What was the revenue in 2024?"
"$RAGSTONE" eval answers "$EVALUATION" --limit 2
"$RAGSTONE" doctor
"""

LOOPBACK = """
import fcntl, socket, struct
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH22x", b"lo", 1 | 64))  # SIOCSIFFLAGS: up
"""

GERMAN = (
    "Die Bibliothek öffnet montags um neun Uhr und schließt um achtzehn Uhr. "
    "Eine Jahreskarte kostet vierundzwanzig Euro. Kinder lesen kostenlos."
)

SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/proc", "/sys", "/dev", "/opt")
"""What belongs to the machine: libraries, its time zone and names, processors, fonts."""
SELF = ("/dev/null", "/dev/tty", "/proc/self")
PACKAGE = [
    form
    for path in map(Path, (ragstone.__path__[0], sys.prefix, sys.base_prefix, *sys.path))
    for form in (path, path.resolve())
]
LOOPBACK_ADDRESS = re.compile(r'inet_addr\("127\.0\.0\.1"\)|inet_pton\(AF_INET6, "::1"')

pytestmark = pytest.mark.real

CALL = re.compile(r"^\d+ +(\w+)\((.*)$")
WRITES = {"mkdir", "mkdirat", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link",
          "linkat", "symlink", "symlinkat", "truncate", "chmod", "fchmodat", "creat"}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a session that ran in a network without routes; `trace` is what it called."""
    if not shutil.which("strace") or not shutil.which("unshare"):
        reason = "strace and unshare are not installed (make test-real installs them as root)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    place = tmp_path_factory.mktemp("session")
    for name in ("home", "tmp", "documents"):
        (place / name).mkdir()
    (place / "documents" / "bibliothek.txt").write_text(GERMAN, encoding="utf-8")
    variables = {
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        "PYTHON": sys.executable,
        "RAGSTONE": RAGSTONE,
        "LOOPBACK": LOOPBACK,
        "DOCUMENTS": str(DOCUMENTS),
        "GERMAN": str(place / "documents"),
        "EVALUATION": str(EVALUATION),
    }
    settled = environment(place / "data", **variables)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "ORT_DISABLE_TELEMETRY"):
        settled.pop(name, None)
    traced = ["strace", "-f", "-y", "--seccomp-bpf", "-e", "trace=%file,%network"]
    done = subprocess.run(
        ["unshare", "-rn", *traced, "-o", str(place / "trace"), "sh", "-c", SESSION],
        env=settled,
        cwd=place,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "31 days" in done.stdout
    assert "vierundzwanzig" in done.stdout
    return place


def _calls(place: Path) -> Iterator[tuple[str, str]]:
    """The name of each system call and what follows it."""
    for line in (place / "trace").read_text(errors="replace").splitlines():
        if found := CALL.match(line):
            yield found[1], found[2]


def _paths(place: Path, arguments: str) -> Iterator[Path]:
    """The files that a call names, relative ones by the folder that it names before them."""
    for folder, name in re.findall(r'(?:AT_FDCWD|\d+)?(?:<([^>]*)>)?(?:, )?"([^"]*)"', arguments):
        if name:
            yield Path(os.path.normpath(Path(folder or place, name)))


def _within(path: Path, *folders: str | Path) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def test_given_a_session_then_nothing_is_written_but_the_data_directory(place: Path) -> None:
    allowed = (place / "data", place / "tmp", *PACKAGE, *SELF)
    written = set()
    for name, arguments in _calls(place):
        writes = name in WRITES or (
            name in ("open", "openat") and re.search("O_WRONLY|O_RDWR|O_CREAT", arguments)
        )
        if writes and "= -1" not in arguments:
            written.update(p for p in _paths(place, arguments) if not _within(p, *allowed))
    assert not written
    assert not list((place / "home").iterdir())
    assert not list((place / "tmp").iterdir())


def test_given_a_session_then_nothing_is_read_but_data_documents_and_programs(place: Path) -> None:
    given = (place / "data", place / "tmp", place / "documents", DOCUMENTS, EVALUATION)
    read = set()
    for name, arguments in _calls(place):
        # A folder that is opened by O_PATH, as those above the documents are, cannot be read.
        if name in ("open", "openat") and not re.search("= -1|O_PATH", arguments):
            paths = _paths(place, arguments)
            read.update(p for p in paths if not _within(p, *given, *PACKAGE, *SYSTEM))
    assert not read


def test_given_a_session_then_it_speaks_only_to_itself(place: Path) -> None:
    spoken = set()
    for name, arguments in _calls(place):
        if name in ("connect", "sendto", "sendmsg", "bind", "sendmmsg"):
            spoken.update(re.findall(r"\{sa_family=.*?\}", arguments))
    assert spoken
    assert not {address for address in spoken if not LOOPBACK_ADDRESS.search(address)}
