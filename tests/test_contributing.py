"""CONTRIBUTING names what is there, and leaves out no room and no registry."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from ragstone.cli.plugins import POINTS
from ragstone.registry import Registry

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


@pytest.mark.parametrize("path", PATHS)
def test_every_path_exists(path: str) -> None:
    places = (ROOT, ROOT / "src" / "ragstone" / "ingest")
    assert any((place / path).exists() for place in places)
    if path.endswith("/"):
        assert any((place / path).is_dir() for place in places)


@pytest.mark.parametrize("name", OBJECTS)
def test_every_module_and_name_exists(name: str) -> None:
    module, _, attribute = name.partition(":")
    found = import_module(module)
    assert hasattr(found, attribute) if attribute else found


@pytest.mark.parametrize("place", POINTS)
def test_every_registry_is_named(place: str) -> None:
    module, _, attribute = place.partition(":")
    assert f"`{place}`" in PAGE
    assert isinstance(getattr(import_module(module), attribute), Registry)


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_named(room: str) -> None:
    assert f"| `src/ragstone/{room}/` |" in PAGE


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
    assert declared == set(POINTS)
