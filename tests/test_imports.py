"""Imports go one way, so that every part can be read without the ones above it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "ragstone"

LAYERS = (
    {"errors", "correlation", "task"},
    {"tool", "redis_client"},
    {"chunk", "intent", "answer", "block"},
    {"turn"},
    {"caller"},
    {"filters"},
    {"text"},
    {"events", "records", "conversation"},
    {"wire"},
    {"server_file"},
    {"ports"},
    {"settings"},
    {"stage", "room_queue"},
    {"runner"},
    {"stages"},
    {"options", "plans"},
    {"recipe"},
    {"registry"},
    {"engine"},
    {"service"},
    {"telemetry"},
    {"metrics"},
    {"index", "models", "state", "ingest", "jobs", "access"},
    {"tools", "backup"},
    {"library"},
    {"build"},
    {"dialects", "remote"},
    {"app"},
    {"evaluation"},
    {"server", "worker"},
    {"terminal"},
    {"cli"},
    {"reference"},
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
ADAPTERS = {"index", "models", "state", "tools"}


def modules() -> list[Path]:
    return [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]


def top(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for inner in ast.walk(node):
                inner.type_checking = True  # type: ignore[attr-defined]
        if getattr(node, "type_checking", False):
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ragstone."):
            names.add((node.module or "").split(".")[1])
        if isinstance(node, ast.Import):
            names.update(a.name.split(".")[1] for a in node.names if a.name[:9] == "ragstone.")
    return names


def test_every_module_has_a_place_in_the_order() -> None:
    assert {top(path) for path in modules()} - {"__main__"} == set(RANK)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_what_stands_before_it(path: Path) -> None:
    here = top(path)
    wrong = {name for name in imported(path) if name != here and RANK[name] >= RANK[here]}
    assert not wrong


@pytest.mark.parametrize("path", sorted((ROOT / "stages").glob("*.py")), ids=lambda p: p.stem)
def test_a_stage_imports_neither_adapters_nor_the_web(path: Path) -> None:
    assert not imported(path) & ADAPTERS
    assert "fastapi" not in path.read_text(encoding="utf-8")


def test_only_build_constructs_adapters() -> None:
    allowed = {"build"}
    for path in modules():
        if top(path) in ADAPTERS | allowed:
            continue
        assert not imported(path) & ADAPTERS, path
