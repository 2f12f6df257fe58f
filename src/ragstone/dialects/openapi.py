"""The OpenAPI document: what FastAPI finds in the routes, and what they all have in common."""

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI

from ragstone.dialects.http import OPENAI_PREFIX

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


def documented(
    *content: str, error: str | None = None, status: int = 200
) -> dict[int | str, dict[str, Any]]:
    """What a route answers with, for its `responses`: the types of its content, and the name of its
    errors' schema where that is not the usual one."""
    described: dict[int | str, dict[str, Any]] = {
        status: {"description": "What was asked for", "content": {one: {} for one in content}}
    }
    if error:
        described["default"] = _error(error)
    return described


def describe(app: FastAPI) -> None:
    """Let the document of `app` say how every operation fails."""
    found: Callable[[], dict[str, Any]] = app.openapi

    def openapi() -> dict[str, Any]:
        if not app.openapi_schema:
            schema = found()
            schema.setdefault("components", {}).setdefault("schemas", {}).update(ERRORS)
            for path, operations in schema["paths"].items():
                for operation in operations.values():
                    _complete(path, operation["responses"])
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]


def _complete(path: str, responses: dict[str, Any]) -> None:
    """Errors have one shape: that of the dialect, with any status."""
    responses.pop("422", None)
    usual = "OpenAiError" if path.startswith(OPENAI_PREFIX + "/") else "Error"
    responses.setdefault("default", _error(usual))


def _error(name: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"description": "Why not", "content": {"application/json": {"schema": schema}}}
