"""What the scripts of benchmarks and training read of this repository is there."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = [
    path for name in ("benchmarks", "training") for path in sorted((ROOT / name).rglob("*.py"))
]


def named_paths(script: Path) -> list[Path]:
    """The paths that a script writes as `Path(__file__).parents[n] / "a" / "b"`."""
    found = []
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        parts: list[str] = []
        while isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
            parts.insert(0, str(node.right.value))
            node = node.left
        if parts and ast.unparse(node).startswith("Path(__file__).parents["):
            found.append(script.parents[ast.literal_eval(node.slice)].joinpath(*parts))  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.relative_to(ROOT)))
def test_the_files_that_a_script_names_exist(script: Path) -> None:
    assert [path for path in named_paths(script) if not path.exists()] == []


@pytest.mark.parametrize(
    "script",
    [*SCRIPTS, *sorted((ROOT / "examples").rglob("*.py"))],
    ids=lambda script: str(script.relative_to(ROOT)),
)
def test_what_a_script_imports_of_ragstone_exists(script: Path) -> None:
    missing = []
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ragstone":
            module = import_module(node.module or "")
            for name in (item.name for item in node.names):
                if not hasattr(module, name) and not find_spec(f"{node.module}.{name}"):
                    missing.append(f"{node.module}.{name}")
    assert missing == []


def test_named_paths_are_found() -> None:
    assert ROOT / "tests" / "guard" / "data" / "guard.jsonl" in [
        path for script in SCRIPTS for path in named_paths(script)
    ]
