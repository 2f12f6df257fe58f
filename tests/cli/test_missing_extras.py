"""What is switched on without its extra says so in one line, and nothing else stops for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

BLOCKING = """
import os, sys
missing = os.environ.get("MISSING", "nothing")
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == missing or name.startswith(missing + "."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""
NOWHERE = "http://127.0.0.1:9/"

ISSUER = {"AUTH__JWKS_URL": NOWHERE, "AUTH__ISSUER": NOWHERE, "AUTH__AUDIENCE": "x"}

pytestmark = pytest.mark.slow


Done = subprocess.CompletedProcess


def ragstone(tmp_path: Path, *arguments: str, **variables: str) -> "Done[str]":
    """A command in an environment of its own."""
    (tmp_path / "sitecustomize.py").write_text(BLOCKING)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [str(Path(sys.executable).with_name("ragstone")), *arguments],
        cwd=tmp_path,
        env={
            **kept,
            "PYTHONPATH": str(tmp_path),
            "RAGSTONE_DATA": str(tmp_path / "data"),
            "MISSING": "nothing",
            **variables,
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A folder whose name is not ASCII."""
    (tmp_path / "Döküme").mkdir()
    (tmp_path / "Döküme" / "Grün ☃.md").write_text("# Lämp\n\nThe lämp lasts 40 hours.\n")
    return "Döküme"


def test_ingest_goes_on_without_the_client_of_mcp(tmp_path: Path, folder: str) -> None:
    on = {"MCP__MCP_ENABLED": "true", "MCP__GATEWAY": NOWHERE}
    done = ragstone(tmp_path, "ingest", folder, MISSING="mcp", **on)
    assert done.returncode == 0, done.stderr
    assert "MCP__MCP_ENABLED is true" in done.stderr
    assert "pip install 'ragstone[mcp]'" in done.stderr


@pytest.mark.parametrize(
    ("module", "variables", "extra"),
    [
        ("redis", {"CACHE__URL": "redis://127.0.0.1:9"}, "redis"),
        ("psycopg", {"STATE__URL": "postgresql://x@127.0.0.1:9/x"}, "postgres"),
        ("pymongo", {"CONVERSATION__URL": "mongodb://127.0.0.1:9"}, "mongodb"),
    ],
    ids=["redis", "postgres", "mongodb"],
)
def test_a_store_without_its_client_says_what_to_install(
    tmp_path: Path, folder: str, module: str, variables: dict[str, str], extra: str
) -> None:
    done = ragstone(tmp_path, "ingest", folder, MISSING=module, **variables)
    assert done.returncode == 1
    assert f"pip install 'ragstone[{extra}]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("module", "variables", "extra"),
    [
        (
            "jwt",
            ISSUER,
            "oidc",
        ),
        ("opentelemetry.exporter", {"TELEMETRY__ENDPOINT": NOWHERE}, "telemetry"),
        ("scim2_models", {"SCIM__TOKEN": "x" * 32}, "scim"),
        ("ldap3", {"LDAP__URL": "ldaps://127.0.0.1:9/dc=x"}, "ldap"),
    ],
    ids=["oidc", "telemetry", "scim", "ldap"],
)
def test_a_server_without_an_extra_says_what_to_install(
    tmp_path: Path, module: str, variables: dict[str, str], extra: str
) -> None:
    done = ragstone(tmp_path, "serve", "--port", "0", MISSING=module, **variables)
    assert done.returncode == 1, done.stdout
    assert f"pip install 'ragstone[{extra}]'" in done.stderr


@pytest.mark.parametrize("utf8", ["", "0"])
@pytest.mark.parametrize("locale", ["C", "POSIX", "no_SUCH.ISO-8859-1"])
def test_names_of_files_are_text_in_any_locale(
    tmp_path: Path, folder: str, locale: str, utf8: str
) -> None:
    here = {"LC_ALL": locale, **({"PYTHONUTF8": utf8} if utf8 else {})}
    done = ragstone(tmp_path, "ingest", folder, **here)
    assert done.returncode == 0, done.stderr
    assert "/Döküme/Grün ☃.md" in ragstone(tmp_path, "documents", **here).stdout
