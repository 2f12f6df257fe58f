"""Clients that generators make of /openapi.json."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.conftest import PROGRAMS, SAID, Clients, installed, program

pytestmark = pytest.mark.real

ANSWER = "".join(SAID)


def test_openapi_python_client(
    clients: Clients, opens: Callable[[str], bool], tmp_path: Path
) -> None:
    generator = str(program(".nox/clients", "openapi-python-client"))
    config = tmp_path / "config.yml"
    config.write_text("package_name_override: ragstone_client\npost_hooks: []\n")
    made = tmp_path / "made"
    address = f"{clients.url}/openapi.json"
    said = clients.run(
        [
            generator,
            "generate",
            "--url",
            address,
            "--output-path",
            str(made),
            "--config",
            str(config),
            "--meta",
            "setup",
            "--fail-on-warning",
        ],
        tmp_path,
    )
    assert "Error" not in said
    python = str(program(".nox/clients", "python"))
    found = clients.printed([python, str(PROGRAMS / "openapi_client.py")], GENERATED=str(made))
    assert found["answers"] == [ANSWER]
    assert [opens(url) for url in found["urls"]] == [True]
    assert "ragstone" in found["models"]


def test_openapi_typescript(clients: Clients, opens: Callable[[str], bool], tmp_path: Path) -> None:
    modules = installed(".nox/node") / "node_modules"
    (tmp_path / "node_modules").symlink_to(modules.resolve())
    (tmp_path / "package.json").write_text('{"type": "module"}')
    binaries = modules / ".bin"
    schema = str(tmp_path / "schema.d.ts")
    clients.run([str(binaries / "openapi-typescript"), f"{clients.url}/openapi.json", "-o", schema])
    shutil.copy(PROGRAMS / "openapi_types.ts", tmp_path / "program.ts")
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"]
    clients.run([str(binaries / "tsc"), *options, "program.ts"], tmp_path)
    found = clients.printed(["node", str(tmp_path / "program.js")], tmp_path)
    assert found["answers"] == [ANSWER]
    assert [opens(url) for url in found["urls"]] == [True]
    assert found["stores"] == ["default"]
