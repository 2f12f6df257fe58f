"""Operations that plugins bring."""

from dataclasses import dataclass
from typing import Any, NoReturn

from ragstone.core.errors import InputError
from ragstone.local.jobs import LocalJobs
from ragstone.ports import Adapters
from ragstone.registry import PLUGINS_OFF, Registry


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """What operations may be made of."""

    adapters: Adapters
    jobs: LocalJobs


ADDED_SERVICES: Registry[Any] = Registry(
    "ragstone.services", "group of operations", {}, makes=object
)
"""By the part of `Service` that they are, made of `ServiceParts`."""


class _Missing:
    """Stands for operations whose plugin is not there."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, operation: str) -> NoReturn:
        if operation.startswith("_"):
            raise AttributeError(operation)
        raise InputError(
            f"The operation {self._name}.{operation} is not there: the plugin {self._name!r} is "
            f"switched off ({PLUGINS_OFF}) or was taken away."
        )


def make_service(name: str, parts: ServiceParts) -> Any:
    """The operations of this name; those of a missing plugin raise InputError when they are
    called."""
    if name not in ADDED_SERVICES.ours:
        return _Missing(name)
    return ADDED_SERVICES.make(name, parts)
