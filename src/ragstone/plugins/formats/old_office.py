"""Word, Excel and PowerPoint files of before 2007 (.doc, .xls, .ppt): libraries make Open XML of
them, which the parsers of .docx, .xlsx and .pptx read.

LibreOffice is not used, even where it is installed: it may follow what a file links to, over the
network too, which no limit of the process that reads files keeps it from.
"""

import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ragstone.core.errors import EncryptedDocument, UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import decode_as
from ragstone.ingest.formats.docx import DOCX
from ragstone.ingest.formats.metadata import flatten_values
from ragstone.ingest.formats.pptx import PPTX
from ragstone.ingest.formats.types import OLE, Format, Surroundings
from ragstone.ingest.formats.xlsx import XLSX

_FILEPASS, _END = 0x2F, 0x0A
"""Records of a workbook: how what follows is encrypted, and the end of its first part."""

_LOST = {
    "CHART_OMITTED": "charts",
    "EMBEDDED_OLE_OMITTED": "embedded objects",
    "OBJECT_ANCHOR_DEFERRED": "drawings and objects",
    "OLE_OBJECTS_UNANCHORED": "embedded objects",
    "PICTURES_DEFERRED": "pictures",
    "unsupported-chart": "charts",
}
"""What is not in the converted file, by the codes with which the libraries report it."""

_PROPERTIES = {
    "title": "title",
    "author": "author",
    "subject": "subject",
    "category": "category",
    "description": "comments",
    "keywords": "keywords",
    "company": "company",
    "created": "create_time",
    "modified": "last_saved_time",
}
"""Metadata by their names here and in olefile."""

_UTF_8 = 65001
_FIRST_YEAR = 1601


@dataclass(frozen=True, slots=True)
class _OldFormat:
    """One of the formats: who wrote it, the newer one that is made of it, and how."""

    program: str
    ending: str
    newer: Format
    convert: Callable[[Path, Path], Any]

    def parse(self, path: Path, ending: str, max_bytes: int) -> Parsed:
        """Read a file whole. Raises UnreadableDocument, EncryptedDocument or ArchiveBomb."""
        with ExitStack() as opened:
            folder = tempfile.mkdtemp(prefix="ragstone-")
            opened.callback(shutil.rmtree, folder, ignore_errors=True)
            newer, lost = self._convert(path, Path(folder))
            parsed = self.newer.parse(newer, self.ending, max_bytes)
            notes = parsed.notes
            if lost:
                advice = f"{self._save_anew} and ingest that to have all of it."
                notes = (*notes, f"{path.name}: {' and '.join(lost)} are not read. {advice}")
            # The libraries leave properties out, or put their own name and today there.
            known = _read_properties(path)
            found = {key: value for key, value in parsed.metadata.items() if key not in _PROPERTIES}
            return replace(
                parsed,
                title=known.pop("title", "") or parsed.title,
                metadata=found | known,
                notes=notes,
                # Pictures are read from the converted file while its blocks are.
                blocks=_until_read(parsed.blocks, opened.pop_all()),
            )

    def read_picture(
        self, path: Path, ending: str, max_bytes: int, around: Surroundings | None, name: str
    ) -> bytes:
        """The bytes of a picture, by its name in the converted file. Raises UnreadableDocument."""
        assert self.newer.picture is not None  # noqa: S101 - else it is not a format's
        with tempfile.TemporaryDirectory(prefix="ragstone-") as folder:
            newer, _ = self._convert(path, Path(folder))
            return self.newer.picture(newer, self.ending, max_bytes, around, name)

    def _convert(self, path: Path, folder: Path) -> tuple[Path, list[str]]:
        """Return the converted file, under the name of the old one, and what it lacks."""
        made, given = folder / f"made{self.ending}", folder / f"given{path.suffix}"
        # The libraries look for a file by its name, which may be another's by now.
        shutil.copyfile(path, given)
        try:
            report = self.convert(given, made).report.to_dict()
        except (RecursionError, MemoryError, ImportError):
            raise
        # The libraries have errors of their own for a few kinds of damage alone.
        except Exception as error:
            if _is_encrypted(path, error):
                raise EncryptedDocument(
                    f"{path.name} is protected by a password. Save a copy without one and ingest "
                    "that."
                ) from error
            raise UnreadableDocument(
                f"{path.name} is damaged, or older than {self.program} 97, and cannot be read. "
                f"{self._save_anew} and ingest that."
            ) from error
        said = (*report.get("diagnostics", ()), *report.get("warnings", ()))
        lost = sorted({_LOST[item["code"]] for item in said if item.get("code") in _LOST})
        return made.rename(folder / path.name), lost

    @property
    def _save_anew(self) -> str:
        return f"Save it as {self.ending}"


def _until_read(blocks: Iterator[Block], opened: ExitStack) -> Iterator[Block]:
    with opened:
        yield from blocks


def _is_encrypted(path: Path, error: Exception) -> bool:
    """Tell whether a password is why a library refused a file; that of workbooks has no error for
    it, and none knows packages of newer Office."""
    if type(error).__name__.startswith("Encrypted"):
        return True
    import olefile

    # olefile raises nearly everything over damage, and knows nothing then.
    with suppress(Exception), olefile.OleFileIO(path) as parts:  # type: ignore[no-untyped-call]
        if parts.exists("EncryptedPackage"):
            return True
        return parts.exists("Workbook") and _has_filepass(parts.openstream("Workbook").read())
    return False


def _has_filepass(workbook: bytes) -> bool:
    start = 0
    while start + 4 <= len(workbook):
        record, size = struct.unpack_from("<HH", workbook, start)
        if record in (_FILEPASS, _END):
            return bool(record == _FILEPASS)
        start += 4 + size
    return False


def _read_properties(path: Path) -> dict[str, Any]:
    """Title and metadata, as far as they can be read."""
    import olefile

    given: dict[str, Any] = {}
    with suppress(Exception), olefile.OleFileIO(path) as parts:  # type: ignore[no-untyped-call]
        known = parts.get_metadata()
        codec = f"cp{known.codepage}" if known.codepage != _UTF_8 else "utf-8"
        for ours, name in _PROPERTIES.items():
            value = getattr(known, name)
            if isinstance(value, bytes):
                value = decode_as(value.rstrip(b"\0"), codec)
            elif isinstance(value, datetime):
                # A time of 0 is that of a property which was never set.
                value = value.replace(microsecond=0) if value.year > _FIRST_YEAR else None
            given[ours] = value
    return flatten_values(given)


def _convert_doc(path: Path, made: Path) -> Any:
    import doc2docx  # Few folders have such files.

    return doc2docx.convert(path, made)


def _convert_ppt(path: Path, made: Path) -> Any:
    import ppt2pptx

    return ppt2pptx.convert(path, made)


def _convert_xls(path: Path, made: Path) -> Any:
    import xls2xlsx

    return xls2xlsx.convert(path, made, preserve_vba=False, preserve_source=False)


_WORD = _OldFormat("Word", ".docx", DOCX, _convert_doc)
_POWERPOINT = _OldFormat("PowerPoint", ".pptx", PPTX, _convert_ppt)
_EXCEL = _OldFormat("Excel", ".xlsx", XLSX, _convert_xls)


def _format(old: _OldFormat, media_type: str) -> Format:
    picture = old.read_picture if old.newer.picture else None
    return Format(media_type, old.parse, whole=True, magic=OLE, picture=picture)


DOC = _format(_WORD, "application/msword")
PPT = _format(_POWERPOINT, "application/vnd.ms-powerpoint")
XLS = _format(_EXCEL, "application/vnd.ms-excel")
