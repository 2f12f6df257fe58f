"""Imports go one way, so that every part can be read without the ones above it."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "ragstone"

LAYERS = (
    {"core"},
    {"registry", "language", "errors", "filters"},
    {"ports"},
    {"settings", "service", "engine"},
    {"models", "index", "store", "guard", "verify", "cache", "telemetry", "jobs"},
    {"reader", "retrieve", "understand", "access"},
    {"answer"},
    {"conversation", "ingest"},
    {"recipes", "backup"},
    {"local"},
    {"build"},
    {"remote", "worker", "http"},
    {"api", "cli"},
    {"integrations", "plugins"},
)
"""Rooms from the lowest to the highest; those of one layer do not know each other. The contract
(`service`) stands below what it is implemented with, `local`."""

ADAPTERS = (
    "answer.extractive.extractive",
    "answer.extractive.token_closeness",
    "cache.local",
    "guard.topic_index",
    "index",
    "models",
    "reader",
    "retrieve.held_tokens",
    "retrieve.rerankers",
    "retrieve.sampled_rarity",
    "store",
    "understand.intent_examples",
    "verify.checker",
)
"""What implements a port, and what that is made of."""

FUNCTIONS = ("models.prompt", "models.text_likelihood")
"""What stands among adapters, and has functions that implement no port."""

BUILDERS = ("build", "local.opening", "local.repair", "plugins")
"""What makes adapters, what mends their files, and plugins, which bring adapters of their own."""

WEB = {"fastapi", "starlette", "uvicorn"}

RANK = {room: rank for rank, layer in enumerate(LAYERS) for room in layer}


def name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name(path): path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"}


def is_in(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(f"{place}.") for place in places)


def room(module: str) -> str:
    first, _, rest = module.partition(".")
    inner = f"{first}.{rest.partition('.')[0]}"
    return inner if inner in RANK else first


@cache
def imported(module: str) -> frozenset[str]:
    """The modules of ours that a module imports, wherever in its file, but not for types alone."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in types:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "ragstone":
            package = (node.module or "").partition(".")[2]
            for item in node.names:
                inner = f"{package}.{item.name}".lstrip(".")
                found.add(inner if inner in MODULES else package)
        if isinstance(node, ast.Import):
            found |= {a.name[9:] for a in node.names if a.name.startswith("ragstone.")}
    return frozenset(found - {""})


def packages(module: str) -> set[str]:
    """What the lines at the top of a module import, by the name of the package."""
    lines = MODULES[module].read_text(encoding="utf-8").splitlines()
    imports = (line for line in lines if line.startswith(("import ", "from ")))
    return {line.split()[1].partition(".")[0] for line in imports}


def offenders(found: dict[str, set[str]]) -> dict[str, set[str]]:
    """Of all modules, those where something was found: one test says them all, as a test for each
    would cost more than what it looks at."""
    return {module: some for module, some in found.items() if some}


def test_every_module_has_a_room() -> None:
    assert {room(module) for module in MODULES} == set(RANK)


def test_a_module_imports_only_rooms_below_its_own() -> None:
    wrong = {}
    for module in MODULES:
        here = room(module)
        others = {text for text in imported(module) if room(text) != here}
        wrong[module] = {item for item in others if RANK[room(item)] >= RANK[here]}
    assert not offenders(wrong)


def test_the_core_imports_no_plugin_and_plugins_do_not_import_each_other() -> None:
    def plugin(module: str) -> str:
        return module.split(".")[1] if module.startswith("plugins.") else ""

    wrong = {
        module: {text for text in imported(module) if plugin(text) not in ("", plugin(module))}
        for module in MODULES
    }
    assert not offenders(wrong)


def test_only_the_builder_and_other_adapters_know_an_adapter() -> None:
    others = [module for module in MODULES if not is_in(module, ADAPTERS + BUILDERS)]
    assert not offenders(
        {
            module: {
                text
                for text in imported(module)
                if is_in(text, ADAPTERS) and not is_in(text, FUNCTIONS)
            }
            for module in others
        }
    )


def test_a_capability_knows_nothing_of_the_web() -> None:
    capabilities = [module for module in MODULES if RANK[room(module)] < RANK["ingest"]]
    assert not offenders({module: WEB & packages(module) for module in capabilities})


TWINS = {"RagstoneRetriever": "One for LangChain, one for LlamaIndex."}


def test_no_public_class_name_has_two_meanings() -> None:
    places: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module)
    assert not {name: found for name, found in places.items() if len(found) > 1}.keys() - TWINS
