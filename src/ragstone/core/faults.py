"""Says in ordinary words what pydantic finds wrong with a value.

Its own sentences are for programmers: "Input should be a valid integer, unable to parse string as
an integer". These are read by whoever sent a request, wrote a setting or typed a command.
"""

from collections.abc import Mapping
from typing import Any

_WORDS: Mapping[str, str] = {
    "missing": "it is missing",
    "extra_forbidden": "it is not known here",
    "string": "it must be a text",
    "int": "it must be a whole number",
    "float": "it must be a number",
    "finite": "it must be a number",
    "bool": "it must be true or false",
    "list": "it must be a list",
    "tuple": "it must be a list",
    "dict": "it must be an object",
    "mapping": "it must be an object",
    "model": "it must be an object",
    "dataclass": "it must be an object",
    "url": "it must be an address such as https://example.com",
    "json": "it must be valid JSON",
    "string_too_short": "it must have at least {min_length}",
    "string_too_long": "it may have at most {max_length}",
    "too_short": "it must have at least {min_length}",
    "too_long": "it may have at most {max_length}",
    "string_pattern_mismatch": "it must match the pattern {pattern}",
    "greater_than": "it must be more than {gt}",
    "greater_than_equal": "it must be at least {ge}",
    "less_than": "it must be less than {lt}",
    "less_than_equal": "it must be at most {le}",
    "literal_error": "it must be {expected}",
    "enum": "it must be {expected}",
}
"""By the type of the fault, else by its first word: `int_type` and `int_parsing` are `int`."""


def describe_fault(fault: Mapping[str, Any]) -> str:
    """Say what is wrong with a value, as the end of a sentence that names the value.

    Args:
        fault: One of `ValidationError.errors()`, with its context.
    """
    kind, context = fault["type"], fault.get("ctx", {})
    words = _WORDS.get(kind) or _WORDS.get(kind.partition("_")[0])
    if kind == "value_error" or words is None:
        message = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
        return "it must be a file" if message.startswith("Expected UploadFile") else message
    # A text that was made from the value before its length was measured is only a "Value".
    is_text = kind.startswith("string") or context.get("field_type") == "Value"
    unit = "character" if is_text else "item"
    shown = {
        name: _show_bound(value, unit if name.endswith("_length") else "")
        for name, value in context.items()
    }
    return words.format_map(shown)


def _show_bound(value: Any, unit: str) -> str:
    shown = f"{value:,}".removesuffix(".0") if isinstance(value, int | float) else str(value)
    return f"{shown} {unit}{'' if value == 1 else 's'}" if unit else shown
