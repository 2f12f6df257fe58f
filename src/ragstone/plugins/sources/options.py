"""The options of a source: checked when it is added, and opened with their secrets when it runs.

A secret is never stored or shown: an option names the environment variable of the server that holds
it.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError

from ragstone.core.errors import ConfigError, InputError
from ragstone.core.faults import describe_fault
from ragstone.core.sync import SourceOption
from ragstone.ports.sources import SourceKind, SourceOptions

PREFIX = "RAGSTONE_SOURCE_"
"""How the variables begin that sources may name: others are of no concern to them."""

_REFERENCE = re.compile(rf"env:({PREFIX}[A-Z0-9_]+)")


def check_options(kind: str, declared: SourceKind[Any], given: Mapping[str, str]) -> None:
    """Raise InputError unless these are options of the kind, and no secret is among them."""
    secrets = list_secrets(declared)
    for name, value in given.items():
        if name in secrets and not _REFERENCE.fullmatch(value):
            raise InputError(
                f"Not a valid {name}: name the server's environment variable that holds it, such "
                f"as env:{PREFIX}{name.upper()}."
            )
        if name not in secrets and _holds_secret(value):
            raise InputError(
                f"Not a valid {name}: an address with a password is stored and shown. Give the "
                "password as an option of its own."
            )
    _validate(kind, declared.options, given)


def open_options(kind: str, declared: SourceKind[Any], given: Mapping[str, str]) -> SourceOptions:
    """Return the options with their secrets. Raises ConfigError for a variable that is not set,
    InputError."""
    opened = dict(given)
    for name in list_secrets(declared) & given.keys():
        variable = given[name].removeprefix("env:")
        if variable not in os.environ:
            raise ConfigError(
                f"The environment of the server has no {variable}, which the option {name} names. "
                "Set it and start the server again."
            )
        opened[name] = os.environ[variable]
    return _validate(kind, declared.options, opened)


def list_secrets(declared: SourceKind[Any]) -> set[str]:
    """Return the options of a kind that are secrets."""
    fields = declared.options.model_fields
    return {name for name, field in fields.items() if _is_secret(field.annotation)}


def describe_options(declared: SourceKind[Any]) -> list[SourceOption]:
    """Return the options of a kind, as a form asks for them."""
    described = []
    for name, field in declared.options.model_fields.items():
        secret = _is_secret(field.annotation)
        default = field.get_default(call_default_factory=True)
        shown = "" if secret or field.is_required() or default is None else _write(default)
        values: tuple[object, ...] = (False, True) if field.annotation is bool else ()
        if get_origin(field.annotation) is Literal:
            values = get_args(field.annotation)
        choices = tuple(map(_write, values))
        described.append(
            SourceOption(name, field.description or "", field.is_required(), shown, secret, choices)
        )
    return described


def _write(value: object) -> str:
    """Return a value as the text that is given for it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_secret(annotation: Any) -> bool:
    return annotation is SecretStr or SecretStr in getattr(annotation, "__args__", ())


def _holds_secret(value: str) -> bool:
    try:
        address = urlsplit(value)
        # An account's name alone is a token in addresses of the web, and no secret elsewhere.
        user = address.username if address.scheme in ("http", "https") else None
        return bool(address.password or user)
    except ValueError:
        return False  # It is no address.


def _validate(kind: str, options: type[SourceOptions], given: Mapping[str, str]) -> SourceOptions:
    try:
        return options(**given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(map(str, first["loc"])) or "options"
        reason = describe_fault(first)
        names = ", ".join(options.model_fields)
        raise InputError(
            f"Not a valid source of the kind {kind}: {name}: {reason}. Its options: {names}."
        ) from error
