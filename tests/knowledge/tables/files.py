"""Files with tables, as the parsers read them and the pipeline cuts them."""

from pathlib import Path

from openpyxl import Workbook

from ragstone.core.chunk import Chunk, chunk_id
from ragstone.core.document import encode_blocks
from ragstone.ingest.chunk import chunk
from ragstone.ingest.formats.types import FORMATS
from ragstone.language.language import detect
from ragstone.retrieve.typed_table import TypedTable, read_tables

INVENTORY = """\
Asset,Device,Manufacturer,Ward,Purchased,Price EUR,Next inspection
EQ-0031,Infusion pump,Corvex,S1,2019,2150,2025-09-14
EQ-0032,Infusion pump,Corvex,M2,2021,2290,2025-10-02
EQ-0107,Ventilator,Aeromed,ICU,2020,31400,2025-07-21
EQ-0108,Ventilator,Aeromed,ICU,2022,33900,2026-01-18
EQ-0215,Defibrillator,Pulsar,Emergency,2018,11800,2025-08-05
EQ-0216,Defibrillator,Pulsar,S1,2023,12650,2026-03-11
EQ-0341,Ultrasound scanner,Sonaris,Emergency,2024,56200,2026-05-09
"""

BUDGET = (
    ("Operating budget, thousand euros",),
    ("Department", "2024", None, "2025", None),
    (None, "Plan", "Actual", "Plan", "Forecast"),
    ("Surgery", 8420, 8655, 8900, 8870),
    ("Maternity", 3980, 4127, 4200, 4195),
    ("Emergency", 5260, 5630, 5800, 6015),
    ("Total", 17660, 18412, 18900, 19080),
)
STAFF = (
    ("Group", "31 Dec 2023", "31 Dec 2024", "Planned 31 Dec 2025"),
    ("Doctors", 142, 149, 155),
    ("Nurses", 418, 431, 440),
    ("Therapists", 57, 55, 58),
)


def chunks_of(path: Path, size: int = 1200) -> list[Chunk]:
    known = FORMATS.get(path.suffix[1:])
    parsed = known.parse(path, path.suffix, 100_000_000)
    return [
        Chunk(
            chunk_id(str(path), 1, number), str(path), 1, number, piece.text,
            parsed.title or path.stem, f"/{path.name}", "default", "default", piece.start,
            piece.end, piece.page, piece.section, piece.kind, detect(piece.text),
            layout=encode_blocks(piece.blocks),
        )
        for number, piece in enumerate(chunk(parsed.blocks, size, size // 8))
    ]  # fmt: skip


def tables_of(path: Path, size: int = 1200) -> list[TypedTable]:
    return read_tables(chunks_of(path, size))


def written(folder: Path, text: str = INVENTORY, name: str = "equipment-inventory.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def a_workbook(folder: Path, name: str = "budget-2025.xlsx") -> Path:
    book = Workbook()
    for title, rows in (("Operating budget", BUDGET), ("Staff numbers", STAFF)):
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    sheet = book["Operating budget"]
    sheet.merge_cells("A1:E1")
    sheet.merge_cells("B2:C2")
    sheet.merge_cells("D2:E2")
    del book["Sheet"]
    book.save(folder / name)
    return folder / name
