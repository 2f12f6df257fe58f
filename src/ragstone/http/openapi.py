"""The OpenAPI document: what FastAPI finds in the routes, and what they all have in common."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from ragstone.http.meanings import add_meanings
from ragstone.http.responses import OPENAI_PREFIX

STREAM = "text/event-stream"
ERRORS: Mapping[str, Any] = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "retry"],
                "properties": {
                    "code": {"type": "string", "description": "Stable, for programs."},
                    "message": {"type": "string", "description": "A sentence for a person."},
                    "retry": {"type": "boolean", "description": "Whether a retry may help."},
                },
            }
        },
    },
    "ChatCoreError": {
        "type": "object",
        "required": ["type", "content", "detail"],
        "properties": {
            "type": {"const": "error"},
            "content": {"type": "string"},
            "detail": {"type": "string"},
        },
    },
    "OpenAiError": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["message", "type", "param", "code"],
                "properties": {
                    "message": {"type": "string"},
                    "type": {"type": "string"},
                    "param": {"type": ["string", "null"]},
                    "code": {"type": ["string", "null"]},
                },
            }
        },
    },
}
"""The shapes of an error, by name."""


KEY: Mapping[str, Any] = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key (ragstone keys create), or on your own machine ragstone token.",
}
TEXT: Mapping[str, Any] = {"type": "string"}

_SHAPES = ((f"{OPENAI_PREFIX}/", "OpenAiError"), ("/v2/", "ChatCoreError"))
"""Whose errors look otherwise, by the beginning of their addresses."""


def document_responses(
    *content: str, error: str | None = None, status: int = 200, shape: type[BaseModel] | None = None
) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route: the types of its content, what its JSON is, and the name
    of its errors' schema where that is not the usual one."""
    described: dict[int | str, dict[str, Any]] = {
        status: {"description": "What was asked for", "content": {item: {} for item in content}}
    }
    if shape:
        described[status] |= {"model": shape}
    if error:
        described["default"] = _error(error)
    return described


def describe(app: FastAPI) -> None:
    """Let the document of `app` say with which credential, what every operation is called, what it
    answers and how it fails."""
    found: Callable[[], dict[str, Any]] = app.openapi

    def openapi() -> dict[str, Any]:
        if not app.openapi_schema:
            schema = found()
            schema.setdefault("components", {}).setdefault("schemas", {}).update(ERRORS)
            schema["components"]["securitySchemes"] = {"key": KEY}
            # Without one, guests do what they may.
            schema["security"] = [{"key": []}, {}]
            taken: set[str] = set()
            for path, operations in schema["paths"].items():
                for operation in operations.values():
                    _set_error_responses(path, operation["responses"])
                    _add_path_parameters(path, operation)
                    _name(operation, taken)
                    _rename_form(schema["components"]["schemas"], operation)
                    for response in operation["responses"].values():
                        _set_schemas(response.get("content", {}))
            add_meanings(schema)
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]


def _set_error_responses(path: str, responses: dict[str, Any]) -> None:
    """Give every error status the error schema of the dialect."""
    responses.pop("422", None)
    usual = next((name for prefix, name in _SHAPES if path.startswith(prefix)), "Error")
    responses.setdefault("default", _error(usual))


def _name(operation: dict[str, Any], taken: set[str]) -> None:
    """Call the operation by what it is about and does, as no other."""
    about = operation.get("tags", ["server"])[0]
    name = plain = re.sub(r"\W+", "_", f"{about} {operation['summary']}".lower()).strip("_")
    number = 2
    while name in taken:
        name, number = f"{plain}_{number}", number + 1
    taken.add(name)
    operation["operationId"] = name


def _rename_form(schemas: dict[str, Any], operation: dict[str, Any]) -> None:
    """Call the fields of an upload by its operation, and not by its address."""
    for item in operation.get("requestBody", {}).get("content", {}).values():
        old = str(item.get("schema", {}).get("$ref", "")).rsplit("/", 1)[-1]
        if old.startswith("Body_"):
            new = operation["operationId"].title().replace("_", "") + "Form"
            schemas[new] = {**schemas.pop(old), "title": new}
            item["schema"]["$ref"] = f"#/components/schemas/{new}"


def _set_schemas(content: dict[str, Any]) -> None:
    """Say of every answer what it is, if only that it is an object or a text."""
    for media_type, item in content.items():
        if not item.get("schema"):
            is_json = media_type == "application/json"
            item["schema"] = {"type": "object", "additionalProperties": True} if is_json else TEXT


def _add_path_parameters(path: str, operation: dict[str, Any]) -> None:
    """Add the path parameters that the route reads by itself."""
    known = {item["name"] for item in operation.get("parameters", []) if item["in"] == "path"}
    for name in re.findall(r"{(\w+)}", path):
        if name not in known:
            part = {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            operation.setdefault("parameters", []).append(part)


def _error(name: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"description": "Why not", "content": {"application/json": {"schema": schema}}}
