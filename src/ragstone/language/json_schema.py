"""JSON schemas of somebody else: whether they are ones, and whether a value is valid by one."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

MOST_CHARS = 300
"""Of what is said about a value: it may be long."""


def schema_error(schema: Mapping[str, Any]) -> str:
    """What is wrong with a schema, empty for nothing."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if "patternProperties" in _keys(schema):
        return "patternProperties are not supported"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return str(error.message)[:MOST_CHARS]
    except RecursionError:
        return "it is nested too deeply"
    return ""


def what_is_wrong(value: Any, schema: Mapping[str, Any]) -> str:
    """What makes the value invalid, in a sentence; empty where nothing does.

    Nothing is fetched for a reference, and patterns are not compared: a regular expression of
    somebody else may take for ever.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import extend
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    # They have no types that can be checked.
    kind = cast(Any, extend)(Draft202012Validator, {"pattern": _nothing})
    registry: Registry[Any] = Registry()
    try:
        found = cast(Any, best_match)(kind(schema, registry=registry).iter_errors(value))
    except Unresolvable as error:
        return f"The schema refers to what it does not hold: {error}."[:MOST_CHARS]
    except RecursionError:
        return "It is nested too deeply."
    return f"{found.json_path}: {found.message}"[:MOST_CHARS] if found else ""


def _nothing(*given: Any) -> Iterator[Any]:
    return iter(())


def _keys(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            yield from one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
