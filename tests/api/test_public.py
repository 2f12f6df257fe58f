"""What `import ragstone` offers: these names and no others, each typed and explained."""

import ast
import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import ragstone

HERE = Path(ragstone.__file__)
NAMES = [
    "AgentStep",
    "Answer",
    "AnswerEvent",
    "AskParams",
    "AsyncClient",
    "Checked",
    "Client",
    "CollectionSummary",
    "Document",
    "DocumentText",
    "JobView",
    "Note",
    "Overview",
    "Progress",
    "RagstoneError",
    "Rewritten",
    "Room",
    "SearchParams",
    "Source",
    "Sources",
    "StageEnded",
    "StageStarted",
    "Statement",
    "StoredTurn",
    "Thinking",
    "Token",
    "Usage",
    "Verdict",
    "__version__",
    "errors",
    "filters",
]
PARTS = ["collections", "documents", "sources", "people", "conversations", "jobs"]
CLASSES = [name for name in NAMES if inspect.isclass(getattr(ragstone, name))]


def test_the_names_are_these() -> None:
    assert ragstone.__all__ == NAMES
    assert dir(ragstone) == NAMES
    assert all(hasattr(ragstone, name) for name in NAMES)


def test_a_name_that_is_none_of_them_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_like_this"):
        ragstone.nothing_like_this  # type: ignore[attr-defined]  # noqa: B018


def test_editors_are_told_the_same_names_as_programs() -> None:
    tree = ast.parse(HERE.read_text(encoding="utf-8"))
    [typed] = [node for node in tree.body if isinstance(node, ast.If)]
    told = {
        (node.module, alias.name, alias.asname)
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    places = {(place, name, name) for place, names in ragstone._PLACES.items() for name in names}
    modules = {(place.rpartition(".")[0], name, name) for name, place in ragstone._MODULES.items()}
    assert told == places | modules


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_and_every_member_is_explained_and_typed(name: str) -> None:
    kind = getattr(ragstone, name)
    assert kind.__doc__
    assert get_type_hints(kind) or not dataclasses.is_dataclass(kind)
    for called, member in members(kind):
        assert inspect.getdoc(member), f"{name}.{called} is not explained"
        assert_typed(member, f"{name}.{called}")


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("kind", [ragstone.Client, ragstone.AsyncClient])
def test_every_method_of_a_part_is_explained_and_typed(kind: type, name: str) -> None:
    part = get_type_hints(inspect.getattr_static(kind, name).fget)["return"]
    assert part.__doc__
    assert len(list(members(part))) > 3
    for called, member in members(part):
        assert inspect.getdoc(member), f"{name}.{called} is not explained"
        assert_typed(member, f"{name}.{called}")


@pytest.mark.parametrize("kind", [ragstone.AskParams, ragstone.SearchParams])
def test_every_parameter_of_a_question_is_explained(kind: Any) -> None:
    base = ragstone.SearchParams.__annotations__ if kind is ragstone.AskParams else {}
    own = kind.__annotations__.keys() - base.keys()
    assert not {name for name in own if f"`{name}`" not in kind.__doc__}


def test_the_plain_client_has_what_the_asynchronous_one_has() -> None:
    plain = {"aclose": "close", "__aenter__": "__enter__", "__aexit__": "__exit__"}
    of_async = {plain.get(n, n) for n in vars(ragstone.AsyncClient) if n in plain or n[0] != "_"}
    of_plain = {n for n in vars(ragstone.Client) if n in plain.values() or n[0] != "_"}
    assert of_plain == of_async


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_the_plain_client_has_what_the_asynchronous_one_has(name: str) -> None:
    plain, asynchronous = (
        get_type_hints(inspect.getattr_static(kind, name).fget)["return"]
        for kind in (ragstone.Client, ragstone.AsyncClient)
    )
    wanted = {called: inspect.signature(member) for called, member in members(asynchronous)}
    assert {called for called, _ in members(plain)} == wanted.keys()
    for called, member in members(plain):
        found = inspect.signature(member)
        assert found.parameters == wanted[called].parameters
        assert inspect.iscoroutinefunction(member) is False
        assert "Async" not in str(found.return_annotation)


def test_importing_loads_nothing_before_it_is_used() -> None:
    code = (
        "import sys; before = set(sys.modules); import ragstone; ragstone.__version__;"
        "print(sorted(n for n in set(sys.modules) - before if n.partition('.')[0] == 'ragstone' or"
        " n in ('pydantic', 'numpy', 'httpx2')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['ragstone']"


def members(kind: type) -> list[tuple[str, Any]]:
    """Public methods and properties of a class of ours."""
    return [
        (name, member)
        for base in kind.__mro__
        if base.__module__.startswith("ragstone")
        for name, member in vars(base).items()
        if not name.startswith("_") and (inspect.isroutine(member) or isinstance(member, property))
    ]


def assert_typed(member: Any, name: str) -> None:
    called = member.fget if isinstance(member, property) else member
    called = getattr(called, "__func__", called)
    hints = called.__annotations__
    missing = [p for p in inspect.signature(called).parameters if p != "self" and p not in hints]
    assert not missing, name
    assert "return" in hints, name
