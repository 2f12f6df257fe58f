"""The page at /docs: every operation, in one file that needs no network.

FastAPI's own page loads its program from a CDN, which shows nothing on a machine without one.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import HTMLResponse, Response

from ragstone.http.responses import Json
from ragstone.settings.server import ServerSettings

_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font-family: ui-monospace, monospace; }
pre { overflow-x: auto; background: color-mix(in srgb, currentColor 8%, transparent);
  padding: .75rem; border-radius: .4rem; }
summary { cursor: pointer; padding: .3rem 0; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700; }
summary small { display: block; padding-left: 5.5rem; }
nav a { margin-right: 1rem; white-space: nowrap; }
label { display: block; }
input, textarea { font: inherit; width: 100%; box-sizing: border-box; }
textarea { font-family: ui-monospace, monospace; }
output { display: block; white-space: pre-wrap; max-height: 30rem; overflow: auto; }
td, th { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0; }
"""

_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; script-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""The page's content policy: its own style, the program that sends what is tried here, and requests
to this server alone."""


def router(app: FastAPI, settings: ServerSettings) -> APIRouter:
    """The routes of the page and of the document."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/openapi.json", response_model=None)
    async def document(request: Request) -> Response:
        """The document, which says where the server is."""
        own = settings.public_url.rstrip("/") or request.scope.get("app_root_path", "") or "/"
        return Json({**app.openapi(), "servers": [{"url": own}]})

    @routes.get("/docs", response_model=None)
    async def docs() -> HTMLResponse:
        return HTMLResponse(page(app.openapi()))

    return routes


def page(schema: Mapping[str, Any]) -> str:
    """Return the operations of an OpenAPI document as HTML."""
    groups: dict[str, list[str]] = {}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            group = operation.get("tags", ["Other"])[0]
            groups.setdefault(group, []).append(_operation(schema, method, path, operation))
    title = html.escape(f"{schema['info']['title']} {schema['info']['version']}")
    body = "".join(
        f'<h2 id="{_anchor(name)}">{html.escape(name)}</h2>{"".join(operations)}'
        for name, operations in groups.items()
    )
    links = "".join(f'<a href="#{_anchor(name)}">{html.escape(name)}</a>' for name in groups)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><h1>{title}</h1><p>{html.escape(schema['info'].get('description', ''))}</p>"
        '<p>For programs: <a href="openapi.json">openapi.json</a>.</p>'
        '<p><label>Key, for what is tried here <input id="key" type="password" '
        'autocomplete="off"></label></p>'
        f'<nav aria-label="Groups">{links}</nav>{body}'
        '<script src="web/docs.js" defer></script></body></html>'
    )


def _operation(
    schema: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any]
) -> str:
    text = html.escape(operation.get("description", ""))
    fields = [_row(p["name"], p.get("schema", {}), p) for p in operation.get("parameters", [])]
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    body = _resolve(schema, content.get("schema", {}))
    for name, field in body.get("properties", {}).items():
        fields.append(_row(name, field, {"required": name in body.get("required", [])}))
    head = "<tr><th>Field</th><th>Type</th><th>Meaning</th></tr>"
    table = f"<table>{head}{''.join(fields)}</table>" if fields else ""
    call = f'<span class="method">{method.upper()}</span> <code>{html.escape(path)}</code>'
    form = _form(method, path, operation, content.get("schema", {}), schema)
    gist = html.escape(re.split(r"(?<=\.)\s|\n\n", operation.get("description", ""), maxsplit=1)[0])
    row = f"<summary>{call} <small>{gist}</small></summary>"
    return f"<details>{row}<p>{text}</p>{table}{form}</details>"


def _anchor(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower())


def _form(
    method: str,
    path: str,
    operation: Mapping[str, Any],
    body: Mapping[str, Any],
    schema: Mapping[str, Any],
) -> str:
    """Return what tries the operation; nothing where it takes files, which a program sends."""
    taken = operation.get("requestBody", {}).get("content", {})
    if taken and "application/json" not in taken:
        return ""
    inputs = "".join(
        f"<label><code>{html.escape(item['name'])}</code> "
        f'<input name="{html.escape(item["name"])}" data-in="{html.escape(item["in"])}"></label>'
        for item in operation.get("parameters", [])
        if item["in"] in ("path", "query")
    )
    text = json.dumps(_example(schema, _resolve(schema, body)), indent=2, ensure_ascii=False)
    area = f'<textarea rows="6" aria-label="Body">{html.escape(text)}</textarea>' if taken else ""
    return (
        f'<form data-method="{method.upper()}" data-path="{html.escape(path)}">{inputs}{area}'
        "<p><button>Send</button></p><output></output></form>"
    )


def _example(schema: Mapping[str, Any], body: Mapping[str, Any]) -> Any:
    """Return the body's own example, else one with the fields that it needs."""
    if "example" in body:
        return body["example"]
    empty: Mapping[str, Any] = {"string": "", "array": [], "object": {}, "boolean": False}
    fields = {name: _resolve(schema, body["properties"][name]) for name in body.get("required", [])}
    return {name: empty.get(str(field.get("type")), 1) for name, field in fields.items()}


def _row(name: str, field: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    kind = _kind(field) + (", required" if about.get("required") else "")
    meaning = field.get("description", "")
    cells = (f"<code>{html.escape(name)}</code>", html.escape(kind), html.escape(meaning))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _kind(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return " | ".join(json.dumps(value) for value in field["enum"])
    if "$ref" in field:
        return str(field["$ref"]).rsplit("/", 1)[-1]
    if "anyOf" in field:
        return " | ".join(_kind(part) for part in field["anyOf"] if part.get("type") != "null")
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    return str(field.get("type", "any"))


def _resolve(schema: Mapping[str, Any], field: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in field:
        return field
    name = str(field["$ref"]).rsplit("/", 1)[-1]
    found: Mapping[str, Any] = schema["components"]["schemas"][name]
    return found
