"""Fetches the libraries of the web app from the npm registry, as `npm` is set up to reach it, and
writes `preact.js`, `hooks.js`, `htm.js`, `markdown-it.js`, `purify.js`, `uplot.js`, `uplot.css`,
`temml.js`, `pdf.js`, `pdf.worker.js` and `pdf.viewer.js`:

    python -m training.web_vendor

Versions and sha256 hashes stand below; a file that differs is not written. A new version is one
changed line: the command then prints the hash that it found. Nothing is bundled or built: only the
names by which a file imports another are made addresses, and source maps, which are not here, are
no longer named.
"""

import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src/ragstone/http/web/static/vendor"


@dataclass(frozen=True, slots=True)
class Vendored:
    """A file of the web app: what it is called there, the package and version that it is of, its
    place in the package, and the hash of what is written."""

    name: str
    package: str
    file: str
    sha256: str


FILES = (
    Vendored(
        "preact.js",
        "preact@11.2.0",
        "dist/preact.mjs",
        "225d7a773766e6fb2cfcc45274fe41d2059f5782f3f2c4569aa5132a2d3a2902",
    ),
    Vendored(
        "hooks.js",
        "preact@11.2.0",
        "hooks/dist/hooks.mjs",
        "5c65ab263688d0805862fd0807c779af02c2799c44fda0873dfcb870d0da70a0",
    ),
    Vendored(
        "htm.js",
        "htm@3.1.1",
        "dist/htm.module.js",
        "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4",
    ),
    Vendored(
        "markdown-it.js",
        "markdown-it@15.0.3",
        "dist/browser/markdown-it.esm.min.mjs",
        "40ee4f75f35a4c8d24f1d7a902f4c56a26da8bd9eec5bb02ad4a672d6ba05525",
    ),
    Vendored(
        "purify.js",
        "dompurify@3.4.18",
        "dist/purify.es.mjs",
        "f1f1ba66e2951e5ca14bc4e71e24cc503d35d49c68f9bcfa4fd97970cb71c76b",
    ),
    Vendored(
        "uplot.js",
        "uplot@1.6.32",
        "dist/uPlot.esm.js",
        "5dd9b3281aa64b461b42d9945f6adb2649d346502b12281a9ae0d46599a80eba",
    ),
    Vendored(
        "uplot.css",
        "uplot@1.6.32",
        "dist/uPlot.min.css",
        "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    ),
    Vendored(
        "temml.js",
        "temml@0.13.5",
        "dist/temml.mjs",
        "49753197751c1ff7fa2c76c3b8503b6cee03774c7c92ccd71c3c4b7fa5b31fe1",
    ),
    Vendored(
        "pdf.js",
        "pdfjs-dist@5.6.205",
        "build/pdf.min.mjs",
        "2221020ea508479dcc1221f36f2731656339230097c69ba1f78802832c0ad685",
    ),
    Vendored(
        "pdf.worker.js",
        "pdfjs-dist@5.6.205",
        "build/pdf.worker.min.mjs",
        "51a2fd1ea47f1a9b0814e65e0c336c739c54957795ee774e8f93cb81e8028dd1",
    ),
    Vendored(
        "pdf.viewer.js",
        "pdfjs-dist@5.6.205",
        "web/pdf_viewer.mjs",
        "a03a32c5a15f69bd6ec2a7b2164b4bf8f9ec95fe591cc5148c5eda6ef4079d5f",
    ),
)

_IMPORT = re.compile(r"""(\bfrom\s*|\bimport\s*)(["'])preact\2""")
_MAP = re.compile(r"^//# sourceMappingURL=.*\n?", re.MULTILINE)


def adapt(content: bytes) -> bytes:
    """Return the content as a browser without a build step loads it."""
    text = _IMPORT.sub(r"\1\2./preact.js\2", content.decode())
    return _MAP.sub("", text).encode()


def fetch(package: str, folder: Path) -> Path:
    """Return the archive of a package, as the registry has it."""
    command = ["npm", "pack", "--silent", "--pack-destination", str(folder), package]
    named = subprocess.run(command, check=True, capture_output=True, text=True)
    return folder / named.stdout.split()[-1]


def main() -> int:
    """Write every file that has its hash; 1 if one has not."""
    TARGET.mkdir(parents=True, exist_ok=True)
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        archives = {
            package: fetch(package, Path(temporary))
            for package in sorted({item.package for item in FILES})
        }
        for item in FILES:
            with tarfile.open(archives[item.package]) as archive:
                member = archive.extractfile(f"package/{item.file}")
                assert member is not None
                content = adapt(member.read())
            found = hashlib.sha256(content).hexdigest()
            if found == item.sha256:
                (TARGET / item.name).write_bytes(content)
            else:
                wrong += 1
                print(f"{item.name} of {item.package} has the sha256 {found}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
