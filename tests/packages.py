"""Packages that add extensions, as installing them would leave them in a folder of the path."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ragstone.cli.plugins import points
from ragstone.registry import find_installed

Points = Mapping[str, Mapping[str, str]]
"""Entry points: the group, the name, and `module:attribute`."""


class Site:
    """A folder with packages, at the beginning of the path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, name: str, points: Points, **modules: str) -> None:
        """Install a package of version 1.0 with these entry points and modules."""
        facts = self._folder / f"{name.replace('-', '_')}-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        groups = [
            "\n".join([f"[{group}]", *(f"{item} = {target}" for item, target in named.items())])
            for group, named in points.items()
        ]
        (facts / "entry_points.txt").write_text("\n\n".join(groups))
        for module, source in modules.items():
            (self._folder / f"{module}.py").write_text(source)
        forget()


def forget() -> None:
    """Read the installed packages anew when they are next asked for."""
    find_installed.cache_clear()
    for registry in points():
        vars(registry).pop("_collect", None)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A place for packages that only this test sees."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    before = set(sys.modules)
    yield Site(folder)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
            del sys.modules[name]
    monkeypatch.undo()
    forget()
