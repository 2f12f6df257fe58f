"""How much code there is, and how it reads: lines, files, layers, circles, stages, settings, names.

Lines are those of Python files, blank ones and comments included. A name counts as a participle by
its first word (`split` is an imperative too, and does not), as a preposition by its last. A circle
is a set of packages that import each other.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import networkx

from benchmarks.row import Row
from ragstone.recipes.recipe import FORMS
from ragstone.recipes.setting_table import table
from tests.test_imports import LAYERS, MODULES, RANK, imported, room

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "ragstone"

GENERATED = ("reference.md", "conformance.md", "measured.md")
"""Pages of the documentation that a command writes."""

MEASURED = re.compile(r"<!-- measured -->.*?<!-- /measured -->", re.DOTALL)
"""The table of a page that a command writes."""

IRREGULAR = frozenset({
    "bound", "bought", "broken", "brought", "built", "chosen", "done", "drawn", "driven",
    "fallen", "felt", "forgotten", "found", "given", "gone", "got", "grown", "heard", "held",
    "hidden", "kept", "known", "laid", "led", "left", "lent", "lost", "made", "meant", "met",
    "paid", "said", "seen", "sent", "shown", "sold", "spelt", "spent", "spoken",
    "stood", "swept", "taken", "thought", "thrown", "told", "torn", "understood", "won", "worn",
    "written",
})  # fmt: skip
REGULAR = re.compile(r"(?!feed|need|seed|speed|embed|thing|string|ring|bring)\w{2,}(ed|ing)")
NOUNS = frozenset({
    "embedding", "heading", "mapping", "meaning", "nothing", "ranking", "reading", "setting",
    "spelling",
})  # fmt: skip
NAMED = (
    ("an operation", "rename_collection", 3),
    ("a field of a source", "snippet", 6),
    ("an option of a request", "min_similarity", 4),
)
"""An example of each, and the most modules that are to name it."""

PREPOSITIONS = frozenset({
    "after", "as", "at", "before", "behind", "beside", "between", "by", "for", "from", "in",
    "into", "of", "off", "on", "onto", "out", "over", "to", "under", "up", "with", "within",
    "without",
})  # fmt: skip


def run() -> Iterator[Row]:
    core = [path for name, path in MODULES.items() if not name.startswith("plugins")]
    yield Row("Lines of the core", _lines(core), most=60_000)
    yield Row("Files of the core", len(core), most=380)
    yield Row("Lines of src", _lines(MODULES.values()), most=90_000)
    yield Row("Layers of imports", len(LAYERS), most=14)
    yield Row("Circles of imports between packages", len(_circles()), most=0)
    upward = sum(
        RANK[room(other)] > RANK[room(module)] for module in MODULES for other in imported(module)
    )
    yield Row("Imports upwards", upward, most=0)
    yield Row("Stages of the recipe", len({*FORMS["plain"].stages, *FORMS["plain"].tail}), most=20)
    yield Row("Settings", len(table()), most=150)
    for what, name, most in NAMED:
        files = [path for path in MODULES.values() if _names(path, name)]
        yield Row(f"Files that name {what} ({name})", len(files), most=most)
    names = [name for path in MODULES.values() for name in _functions(path)]
    yield Row(
        "Names of functions that begin with a participle", sum(map(_is_participle, names)), most=100
    )
    yield Row(
        "Names of functions that end with a preposition", sum(map(_ends_in_preposition, names))
    )
    yield Row("Loop variables called one", sum(map(_loops_over_one, MODULES.values())), most=0)
    yield Row("Comments for each line of code", _comment_share(), least=0.03)
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name not in GENERATED]
    yield Row("Pages of documentation", len(pages), most=30)
    words = sum(len(MEASURED.sub("", page.read_text(encoding="utf-8")).split()) for page in pages)
    yield Row("Words of documentation", words, most=50_000)


def _lines(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _functions(path: Path) -> list[str]:
    """Return the words of each function's name, but for those of Python itself."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = [node.name for node in ast.walk(_tree(path)) if isinstance(node, kinds)]
    return [name.strip("_") for name in names if not name.startswith("__")]


def _names(path: Path, name: str) -> bool:
    return bool(re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")))


def _is_participle(name: str) -> bool:
    first = name.split("_")[0]
    return first in IRREGULAR or (bool(REGULAR.fullmatch(first)) and first not in NOUNS)


def _ends_in_preposition(name: str) -> bool:
    return name.split("_")[-1] in PREPOSITIONS


def _loops_over_one(path: Path) -> int:
    loops = (ast.For, ast.AsyncFor, ast.comprehension)
    targets = [node.target for node in ast.walk(_tree(path)) if isinstance(node, loops)]
    return sum(
        isinstance(name, ast.Name) and name.id == "one"
        for target in targets
        for name in ast.walk(target)
    )


def _comment_share() -> float:
    lines = [
        line.strip()
        for path in MODULES.values()
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    code = [line for line in lines if line and not line.startswith("#")]
    return sum("# " in line for line in lines) / len(code)


def _circles() -> list[set[str]]:
    graph = networkx.DiGraph()
    for module in MODULES:
        here = module.partition(".")[0]
        for other in imported(module):
            there = other.partition(".")[0]
            if here != there:
                graph.add_edge(here, there)
    return [group for group in networkx.strongly_connected_components(graph) if len(group) > 1]
