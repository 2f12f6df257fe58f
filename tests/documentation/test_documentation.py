"""What the documentation names exists: commands, options, settings, addresses, modules, targets."""

import ast
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi import FastAPI
from starlette.routing import Match

from ragstone.http.app import create_app
from ragstone.plugins.sources.options import PREFIX as SOURCE_SECRETS
from ragstone.recipes import setting_table as registry
from ragstone.registry import PLUGINS_OFF
from ragstone.settings import Settings
from ragstone.settings.added import aliases_by_name
from ragstone.settings.read import CONFIG
from tests.documentation.commands import (
    environment,
    every_command,
    parse,
    simple_commands,
    sketched,
)
from tests.documentation.pages import LANGUAGES, ROOT, RUN, Block, pages, scripts, steps
from tests.fake_service import FakeService

PAGES = pages()
BLOCKS = [block for page in PAGES for block in page.blocks]

COMMAND = re.compile(r"ragstone(?: .+)?")
VARIABLE = re.compile(r"\b(?:RAGSTONE_[A-Z_]+|[A-Z][A-Z0-9_]*__[A-Z0-9_]+[A-Z0-9])\b(?!\*|_)")
READ_BY_TESTS = {
    "RAGSTONE_EVAL_DATA",
    "RAGSTONE_GRAPH_CHANGES",
    "RAGSTONE_KILLS",
    "RAGSTONE_PERMISSION_CASES",
    "RAGSTONE_PERMISSION_REQUESTS",
    "RAGSTONE_PLONE_OBJECTS",
    "RAGSTONE_TABLE_FILES",
    "RAGSTONE_LARGE_FILES",
    "RAGSTONE_TREE_FILES",
    "RAGSTONE_TEST_KILLS",
}
"""Variables of this repository that are no settings."""

ADDRESS = re.compile(
    r"(?:(GET|POST|PUT|PATCH|DELETE) )?((?:/api|/v1|/v2|/chat|/mcp)/[^\s?]*)(?:\?\S*)?"
)
HERE = re.compile(r"https?://(?:127\.0\.0\.1|localhost):8006(/[^\s?'\"]*)?")
MODULE = re.compile(r"python3? -m ((?:ragstone|benchmarks|training)[\w.]*)(?: ([a-z]\w*))?")
EXTRA = re.compile(r"ragstone\[([a-z0-9,]+)\]")
CODE = re.compile(r"\b(?:src|tests|benchmarks|training|deploy|examples)/[\w./-]+")
FILE = re.compile(r"\.(?:csv|json|jsonl|md|py|sqlite|txt|yaml)$")
WRITTEN_BY_PROGRAMS = ("docs/conformance.md", "docs/measured.md")
MEASURED = re.compile(r"<!-- measured -->.*?<!-- /measured -->", re.DOTALL)
"""The table of a page that `python -m benchmarks` writes."""

MAX_WORDS = 50_000
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def named(item: Any) -> str:
    return str(item.name)


def of(*languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages]


SHELL = [block for block in BLOCKS if block.first or block.language in ("console", "sh")]


def test_a_fence_says_what_it_holds() -> None:
    assert BLOCKS
    for block in BLOCKS:
        assert block.language in LANGUAGES, f"{block.name}: the language is one of {LANGUAGES}"
        assert block.language in RUN or not block.not_run, f"{block.name} is never run"
        typed = re.findall(r"^ *(?:\$ |ragstone |curl |import ).*", block.text, re.MULTILINE)
        assert block.language in RUN or not typed, f"{block.name}: what is typed is run"


def test_what_is_typed_stands_in_a_fence() -> None:
    typed = [
        (page.name, line)
        for page in PAGES
        for line in page.prose.splitlines()
        if re.match(r"(?: {4,}|\t)(?:\$ )?(?:export |ragstone |curl |pip |make |docker )", line)
    ]
    assert not typed, "indented code is not run: put it into a fence with a language"


def test_every_link_leads_to_a_file() -> None:
    links = [
        (page.name, link)
        for page in PAGES
        for link in re.findall(r"\]\((?!\w+:|#)([^)#]+)", page.prose)
    ]
    assert links
    assert [item for item in links if not ((ROOT / item[0]).parent / item[1]).exists()] == []


def test_every_link_to_a_heading_leads_to_one() -> None:
    links = [
        (page.name, path, heading)
        for page in PAGES
        for path, heading in re.findall(r"\]\((?!\w+:)([^)#]*)#([^)]+)\)", page.prose)
    ]
    assert links
    lost = [
        f"{name}: {path}#{heading}"
        for name, path, heading in links
        if heading not in headings((ROOT / name).parent / path if path else ROOT / name)
    ]
    assert lost == []


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub and MkDocs make them of its headings."""
    lines = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def test_what_people_write_can_be_read_in_a_day() -> None:
    words = {
        page.name: len(MEASURED.sub("", (ROOT / page.name).read_text(encoding="utf-8")).split())
        for page in PAGES
        if page.name.startswith("docs/") and page.name not in WRITTEN_BY_PROGRAMS
    }
    assert sum(words.values()) <= MAX_WORDS, sorted(words.items(), key=lambda item: -item[1])


def test_the_map_names_every_page() -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    names = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert {name for name in names if name not in text} == set()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


def test_every_file_of_the_code_that_a_page_names_exists() -> None:
    names = {
        (page.name, name.rstrip(",.;"))
        for page in PAGES
        for span in page.spans
        for name in CODE.findall(span)
    }
    assert {item for item in names if not (ROOT / item[1]).exists()} == set()


class TestCommands:
    def test_every_command_of_a_fence_is_one_and_each_stands_in_some(self) -> None:
        calls = [w for b in SHELL for script in scripts(b) for w in simple_commands(script)]
        found = {parse(words[1:]) for words in calls if words[0] == "ragstone"}
        assert sorted(set(every_command()) - found) == []

    def test_every_command_of_the_prose_is_one(self) -> None:
        for page in PAGES:
            for span in page.spans:
                if COMMAND.fullmatch(span):
                    sketched(span)

    def test_a_console_begins_with_a_command(self) -> None:
        assert [block.name for block in of("console") if not steps(block)] == []


class TestSettings:
    def test_every_variable_is_a_setting(self) -> None:
        known = {item.variable for item in registry.table().values()}
        known |= {CONFIG, PLUGINS_OFF, *environment(), *READ_BY_TESTS}
        names = set()
        for page in PAGES:
            text = " ".join((page.prose, *(f"{item.first} {item.text}" for item in page.blocks)))
            names |= {(page.name, name) for name in VARIABLE.findall(text)}
        assert {item for item in names if not is_variable(item[1], known)} == set()

    def test_every_key_is_a_setting(self) -> None:
        sections = {item.section for item in registry.table().values() if item.section} - {
            "prompts"
        }
        looks = re.compile(rf"(?:{'|'.join(sections)})\.[a-z_]+")
        keys = [(page.name, s) for page in PAGES for s in page.spans if looks.fullmatch(s)]
        files = (".onnx", ".pt")
        keys = [key for key in keys if not FILE.search(key[1]) and not key[1].endswith(files)]
        assert [key for key in keys if not is_key(key[1])] == []

    def test_every_key_of_a_file_is_a_setting(self) -> None:
        keys = [(block.name, k) for block in of("yaml") for k in flat(yaml.safe_load(block.text))]
        assert [key for key in keys if not is_key(key[1])] == []


def is_variable(name: str, known: set[str]) -> bool:
    """Whether the environment may hold it: a setting, a document's name, a stage's option, or a
    secret of a source."""
    if name.startswith(SOURCE_SECRETS):  # Whoever adds a source chooses the rest.
        return True
    return name in known or is_key(name.lower()) or is_key(name.lower().replace("__", "."))


def is_key(key: str) -> bool:
    return key in registry.table() or key.lower() in aliases_by_name() or key.startswith("prompts.")


def flat(values: Any, prefix: str = "") -> Iterator[str]:
    """The dotted names of the values in a file of settings."""
    for name, value in values.items():
        key = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(value, dict) and not is_key(key):
            yield from flat(value, key)
        else:
            yield key


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(FakeService(), Settings(), "token")


class TestAddresses:
    def test_every_address_of_the_prose_is_a_route(self, app: FastAPI) -> None:
        spans = [(page.name, s.replace("\\|", "|")) for page in PAGES for s in page.spans]
        found = [(name, match) for name, span in spans if (match := ADDRESS.fullmatch(span))]
        unknown = [(name, m[0]) for name, m in found if not answered(app, m[1], m[2])]
        assert unknown == []

    def test_every_address_that_is_called_is_a_route(self, app: FastAPI) -> None:
        calls = [w for b in SHELL for script in scripts(b) for w in simple_commands(script)]
        for words in calls:
            for url in HERE.findall(" ".join(words)) if words[0] == "curl" else ():
                assert answered(app, method_of(words), url or "/"), shlex.join(words)

    def test_every_request_is_for_a_route(self, app: FastAPI) -> None:
        for block in of("http"):
            method, target = block.text.split()[:2]
            assert answered(app, method, target.split("?")[0]), block.name


def method_of(curl: list[str]) -> str:
    """The method that curl would use."""
    for word, following in zip(curl, [*curl[1:], ""], strict=True):
        if word in ("-X", "--request"):
            return following
        if found := re.fullmatch(r"-X([A-Z]+)", word):
            return found[1]
    sending = ("-d", "--data", "--data-raw", "--data-binary", "--json", "-F", "--form")
    if any(word in sending for word in curl) and "-G" not in curl:
        return "POST"
    return "HEAD" if "-I" in curl else "GET"


def answered(app: FastAPI, method: str | None, path: str) -> bool:
    """Whether the application has such an address; `/v2/{rag,gpt}/query` means two of them. Without
    a method, `/v1/*` and `/v1/chat` mean those below."""
    if alternatives := re.search(r"\{([^}]*,[^}]*)\}", path):
        kinds = alternatives[1].split(",")
        return all(answered(app, method, path.replace(alternatives[0], k)) for k in kinds)
    documented = app.openapi()["paths"]
    asked = template(path)
    if method is None and any(f"{template(known)}/".startswith(asked) for known in documented):
        return True
    # A part of an address may be one of a few words, which its template does not say.
    if method and any(
        template(known) == asked and method.lower() in documented[known] for known in documented
    ):
        return True
    plain = re.sub(r"\{[^}]*\}", "x", path)
    scope = {"type": "http", "path": plain, "headers": [], "root_path": ""}
    scopes = [{**scope, "method": item} for item in ([method] if method else METHODS)]
    return any(route.matches(item)[0] is Match.FULL for item in scopes for route in app.routes)


def template(path: str) -> str:
    """The address without the names of its parts, and without a `*` at its end."""
    return re.sub(r"\{[^}]*\}", "{}", path.removesuffix("*"))


class TestCode:
    @pytest.mark.parametrize("block", of("python"), ids=named)
    def test_it_compiles_and_its_imports_exist(self, block: Block) -> None:
        source = block.text
        compile(source, block.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    assert not alias.name.startswith("ragstone") or find_spec(alias.name)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ragstone"):
                assert find_spec(str(node.module)), node.module
                if block.not_run:  # It may need what is not installed.
                    continue
                module = import_module(str(node.module))
                for alias in node.names:
                    assert hasattr(module, alias.name) or find_spec(f"{node.module}.{alias.name}")

    @pytest.mark.parametrize("block", of("json"), ids=named)
    def test_json_is_json(self, block: Block) -> None:
        json.loads(block.text)

    def test_modules_targets_and_extras_exist(self) -> None:
        text = "\n".join(
            text for page in PAGES for text in (*page.spans, *(item.text for item in page.blocks))
        )
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        asked = re.findall(r"^(?:\$ )?make ([a-z-]+)", text, re.MULTILINE)
        assert set(asked) <= set(targets)
        for names in EXTRA.findall(text):
            assert set(names.split(",")) <= set(extras["optional-dependencies"])
        for module, benchmark in MODULE.findall(text):
            assert find_spec(module), module
            if module == "benchmarks" and benchmark:
                assert find_spec(f"benchmarks.{benchmark}"), benchmark
