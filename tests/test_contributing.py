"""CONTRIBUTING names what is there, and leaves out no room and no registry."""

import re
from importlib import import_module
from pathlib import Path

from ragstone.cli.plugins import POINTS
from ragstone.registry import Registry, find_plugins

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SPANS = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))
PATHS = [span for span in SPANS if re.fullmatch(r"[\w.-]+(?:/[\w.-]+)*/?", span) and "/" in span]
OBJECTS = [span for span in SPANS if re.fullmatch(r"ragstone(?:\.\w+)+(?::\w+)?", span)]
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
ROOMS = [
    place.name
    for place in (ROOT / "src" / "ragstone").iterdir()
    if (place / "__init__.py").exists()
]


def test_every_path_exists() -> None:
    places = (ROOT, ROOT / "src" / "ragstone" / "ingest")

    def exists(path: str) -> bool:
        found = [place / path for place in places if (place / path).exists()]
        return any(item.is_dir() or not path.endswith("/") for item in found)

    assert PATHS
    assert [path for path in PATHS if not exists(path)] == []


def test_every_module_and_name_exists() -> None:
    assert OBJECTS
    for name in OBJECTS:
        module, _, attribute = name.partition(":")
        found = import_module(module)
        assert not attribute or hasattr(found, attribute), name


def test_every_registry_is_named() -> None:
    assert [place for place in POINTS if f"`{place}`" not in PAGE] == []
    for place in POINTS:
        module, _, attribute = place.partition(":")
        assert isinstance(getattr(import_module(module), attribute), Registry), place


def test_every_room_is_named() -> None:
    assert [room for room in ROOMS if f"| `src/ragstone/{room}/` |" not in PAGE] == []


def test_every_target_of_make_exists() -> None:
    named = {span.removeprefix("make ") for span in SPANS if span.startswith("make ")}
    assert named
    assert named <= set(TARGETS)


def test_every_registry_of_the_code_is_an_extension_point() -> None:
    declared = set()
    for file in (ROOT / "src" / "ragstone").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for name in re.findall(r"^([A-Z_]+): Registry\[", text, re.MULTILINE):
            parts = file.relative_to(ROOT / "src").with_suffix("").parts
            declared.add(f"{'.'.join(parts).removesuffix('.__init__')}:{name}")
    own = {point for plugin in find_plugins().values() for point in plugin.points}
    assert declared == {*POINTS, *own}
