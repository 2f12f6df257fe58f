"""Writes `ragstone/api/sync.py`, the plain twin of the asynchronous client, from its source.

`python -m tests.api.generate` prints it; `make api` puts it in its place. A test fails when it
is not up to date.
"""

import ast
import re
from collections.abc import Sequence
from pathlib import Path

import ragstone.api

HERE = Path(ragstone.api.__file__).parent
SOURCES = ("namespaces.py", "client.py")
DOC = '"""The plain client. `make api` writes this file from the asynchronous one: edit that."""'
_QUOTES = "'\""
_PLAIN = re.compile(r"\bAsync(?=[A-Z])")
RENAMED = {"__aenter__": "__enter__", "__aexit__": "__exit__", "aclose": "close"}


def generate_source() -> str:
    """The module's source, not formatted."""
    trees = [ast.parse((HERE / name).read_text(encoding="utf-8")) for name in SOURCES]
    classes = [_twin(node) for tree in trees for node in tree.body if _is_async_class(node)]
    body = "\n\n\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in classes)
    return f"{DOC}\n\n{_imports(trees, classes)}\n\n\n{body}\n"


def _is_async_class(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and node.name.startswith("Async")


def _is_client(node: ast.ClassDef) -> bool:
    return node.name == "AsyncClient"


def _plain(name: str) -> str:
    return name.removeprefix("Async")


def _twin(node: ast.stmt) -> ast.ClassDef:
    assert isinstance(node, ast.ClassDef)
    methods = []
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__" and _is_client(node):
            methods.append(_constructor(item))
        elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and _is_public(item):
            methods.append(_method(item))
    doc = ast.Expr(ast.Constant(ast.get_docstring(node, clean=False)))
    base = ast.parse(f"Twin[{node.name}]", mode="eval").body
    return ast.ClassDef(_plain(node.name), [base], [], [doc, *methods], [])


def _is_public(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return not node.name.startswith("_") or node.name in RENAMED


def _method(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    """The method of the twin, which has the same parameters."""
    call = f"self._inner.{node.name}"
    if not _is_property(node):
        call += f"({', '.join(_arguments(node.args))})"
    returned = ast.unparse(node.returns) if node.returns else ""
    if node.name == "__aenter__":
        body = [f"self._thread.run({call})", "return self"]
    elif node.name == "__aexit__":
        body = ["self.close()"]
    elif node.name == "aclose":
        body = ["self._thread.close()"]
    elif returned.startswith("AsyncGenerator["):
        body = [f"return self._thread.iterate({call})"]
    elif isinstance(node, ast.AsyncFunctionDef):
        body = [f"return self._thread.run({call})"]
    else:
        body = [f"return {_plain(returned.strip(_QUOTES))}._wrap({call}, self._thread)"]
    doc = ast.Expr(ast.Constant(ast.get_docstring(node, clean=False)))
    statements = [statement for line in body for statement in ast.parse(line).body]
    plain = _PLAIN.sub("", returned).replace(", None]", ", None, None]")
    returns = ast.parse(plain, mode="eval").body
    return ast.FunctionDef(
        RENAMED.get(node.name, node.name),
        node.args,
        [doc, *statements],
        node.decorator_list,
        returns,
    )


def _constructor(node: ast.FunctionDef) -> ast.stmt:
    made = f"AsyncClient({', '.join(_arguments(node.args))})"
    body = ast.parse(f"self._inner = {made}\nself._thread = LoopThread(self._inner.aclose)").body
    return ast.FunctionDef(node.name, node.args, body, [], node.returns)


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(item) == "property" for item in node.decorator_list)


def _arguments(parameters: ast.arguments) -> list[str]:
    """What hands every parameter on but `self`."""
    given = [arg.arg for arg in parameters.args[1:]]
    if parameters.vararg:
        given.append(f"*{parameters.vararg.arg}")
    given += [f"{kwonlyarg.arg}={kwonlyarg.arg}" for kwonlyarg in parameters.kwonlyargs]
    if parameters.kwarg:
        given.append(f"**{parameters.kwarg.arg}")
    return given


def _imports(trees: Sequence[ast.Module], classes: Sequence[ast.ClassDef]) -> str:
    """The imports of the classes, in ruff's order."""
    places = {
        "Generator": "collections.abc",
        "LoopThread": "ragstone.api.threads",
        "Twin": "ragstone.api.threads",
    }
    for name, tree in zip(SOURCES, trees, strict=True):
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                places |= {alias.name: node.module for alias in node.names}
            for defined in _list_definitions(node):
                places[defined] = f"ragstone.api.{name.removesuffix('.py')}"
    names = {n.id for class_ in classes for n in ast.walk(class_) if isinstance(n, ast.Name)}
    modules: dict[str, list[str]] = {}
    for name in sorted(names & places.keys(), key=_order):
        modules.setdefault(places[name], []).append(name)
    lines = [f"from {module} import {', '.join(modules[module])}" for module in sorted(modules)]
    ours = [line for line in lines if line.startswith("from ragstone")]
    others = [line for line in lines if line not in ours]
    return "\n".join([*others, "", *ours])


def _list_definitions(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _order(name: str) -> tuple[bool, bool, str]:
    """Constants, then classes, then the rest."""
    return not name.isupper(), not name[0].isupper(), name


if __name__ == "__main__":
    print(generate_source(), end="")
