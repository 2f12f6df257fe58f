"""Office files of other projects: how many can be read, how many of their words arrive, how fast.

`RAGSTONE_OFFICE_FILES` is a folder with files below it, such as the test data of Apache POI,
Apache Tika, pandoc and odfpy. A second, simple reader takes every text of a file's XML (or the
decoded text of a mail), and its words are looked for in what Ragstone read.
"""

import email
import email.policy
import os
import re
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from lxml import etree

from benchmarks.row import Row
from ragstone.core.errors import DocumentError
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings

_WORD = re.compile(r"\w+")
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=True)
_SHOWN = 12
"""So many files with the fewest words kept are named."""


def run() -> list[Row]:
    root = Path(os.environ["RAGSTONE_OFFICE_FILES"])
    rows: list[Row] = []
    for ending in sorted(_READERS):
        files = sorted(one for one in root.rglob(f"*{ending}") if one.is_file())
        if files:
            rows += _measured(ending, files)
    return rows


def _measured(ending: str, files: list[Path]) -> Iterator[Row]:
    refused: Counter[str] = Counter()
    kept = said = 0
    seconds = 0.0
    shares = []
    for path in files:
        started = time.perf_counter()
        try:
            text = "\n".join(
                f"{one.text}\n{one.label}" for one in parse(path, IngestSettings()).blocks
            )
        except DocumentError as error:
            refused[type(error).__name__] += 1
            text = "" if type(error).__name__ == "EmptyDocument" else None
        seconds += time.perf_counter() - started
        if text is None:
            continue
        found = Counter(_WORD.findall(text.lower()))
        wanted = Counter(_WORD.findall(_second(path, ending).lower()))
        both = sum(min(count, found[word]) for word, count in wanted.items())
        kept, said = kept + both, said + wanted.total()
        if wanted.total():
            shares.append((both / wanted.total(), wanted.total(), path.name))
    name = ending.removeprefix(".").upper()
    why = ", ".join(f"{count} {reason}" for reason, count in refused.most_common())
    yield Row(f"{name}: files", len(files), note=why, detail=True)
    yield Row(f"{name}: words kept", kept / max(said, 1), least=0.95, detail=True)
    yield Row(f"{name}: files a second", len(files) / seconds, "files/s", detail=True)
    for share, words, file in sorted(shares)[:_SHOWN]:
        if share < 0.95:
            print(f"  {share:.2f} of {words:,} words: {file}")


def _second(path: Path, ending: str) -> str:
    try:
        return _READERS[ending](path)
    except (OSError, ValueError, LookupError, zipfile.BadZipFile, etree.LxmlError):
        return ""


def _xml(parts: str, texts: str, without: str = "") -> Callable[[Path], str]:
    """The texts of elements in the parts of a package, but below those of `without`."""

    def read(path: Path) -> str:
        found = []
        with zipfile.ZipFile(path) as package:
            for name in package.namelist():
                if not re.fullmatch(parts, name):
                    continue
                root = etree.fromstring(package.read(name), _PARSER)
                for one in root.xpath(without) if without else ():
                    one.clear(keep_tail=True)
                found += _texts(root, texts)
        return "".join(found)

    return read


def _texts(root: etree._Element, texts: str) -> Iterator[str]:
    for one in root.xpath(texts):
        last = one.getparent() is not None and one.getparent().tag.endswith("}p")
        yield f"{'' if last else ' '}{''.join(one.itertext())}"
        if one.tag.endswith(("}p", "}h")):
            yield "\n"


def _mail(path: Path) -> str:
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    body = message.get_body(("plain",))
    return body.get_content() if body else ""


_ODF_DROPPED = "|".join(
    f"//*[local-name()='{name}']"
    for name in ("annotation", "tracked-changes", "table-of-content", "forms", "alphabetical-index")
)
_LOCAL = "//*[local-name()='{}']"
_ODF = _xml(r"content\.xml", "|".join(map(_LOCAL.format, "ph")), _ODF_DROPPED)
_READERS: dict[str, Callable[[Path], str]] = {
    ".docx": _xml(
        r"word/document\d?\.xml",
        _LOCAL.format("p") + "[not(.//*[local-name()='p'])]",
        "|".join(
            f"//*[local-name()='{name}']"
            for name in ("del", "moveFrom", "Fallback", "instrText", "delText", "rPr", "pPr",
                         "posOffset", "pctWidth", "pctHeight", "align")
        ),
    ),
    ".pptx": _xml(r"ppt/(?:slides|notesSlides)/[^/]+\.xml",
                  "//*[local-name()='p'][not(.//*[local-name()='fld'])]"),
    ".xlsx": _xml(r"xl/sharedStrings\.xml", _LOCAL.format("si"), _LOCAL.format("rPh")),
    ".odt": _ODF,
    ".ods": _ODF,
    ".odp": _ODF,
    ".eml": _mail,
}  # fmt: skip
