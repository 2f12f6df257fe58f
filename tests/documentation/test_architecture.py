"""The page on architecture shows the rooms as they are, and names what exists."""

import re

from ragstone.recipes.recipe import stages
from ragstone.settings import RagSettings, Settings
from tests.documentation.pages import ROOT
from tests.test_imports import LAYERS

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def first_cells(heading: str) -> list[str]:
    """The first cell of every row of the table below a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)[2:]


def test_the_rooms_stand_in_the_order_of_imports() -> None:
    rows = [re.findall(r"`([\w/]+)(?:\.py|/)`", cell) for cell in first_cells("Packages")]
    shown = [{room.replace("/", ".") for room in row} for row in rows]
    assert shown == [set(layer) for layer in LAYERS]


def test_every_name_of_the_glossary_exists() -> None:
    names = {name for cell in first_cells("Names") for name in re.findall(r"`(\w+)`", cell)}
    every = Settings(rag=RagSettings(knowledge_graph_enabled=True))
    known = {stage.name for stage in stages(every, "standard").values()}
    code = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    classes = {name for text in code for name in re.findall(r"^class (\w+)", text, re.MULTILINE)}
    assert names - known - classes == set()
