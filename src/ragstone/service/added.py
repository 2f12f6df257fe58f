"""Operations that plugins and other packages add to the contract, by the part that they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ragstone.core.errors import InputError
from ragstone.registry import PLUGINS_OFF, Extension, Registry

if TYPE_CHECKING:
    from ragstone.service import Service

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AddedService(Generic[T]):
    """A part of the contract, and what does its operations.

    The methods of the Protocol `contract` are the operations, with `require_role` for who may call
    them. `opens` is the `module:function` that makes the part of `local.added.ServiceParts`, so
    that a command which asks a server imports no more than the contract. Where the part has a
    coroutine `watch`, it runs in the process that does jobs, until that ends. What it does by
    itself it does by `observed`, if it has that: the part with the observers round its operations.
    """

    name: str
    contract: Any
    opens: str

    def open(self, parts: Any) -> T:
        """Make the part in this process."""
        return cast(T, Extension(self.opens).load()(parts))

    def of(self, service: "Service") -> T:
        """The part of a service; raises InputError where its plugin is switched off."""
        return cast(T, find_part(service, self.name))


ADDED_SERVICES: Registry[AddedService[Any]] = Registry(
    "ragstone.services", "group of operations", {}, is_a=AddedService
)
"""Parts of the contract by their name."""


@cache
def added_services() -> Mapping[str, AddedService[Any]]:
    """The parts by name. One of another package that is broken, or has the name of one of ours, is
    left out, and the log says why."""
    from ragstone.service import Service

    def load(name: str) -> AddedService[Any]:
        if hasattr(Service, name):
            raise ValueError("Ragstone has a part of that name")
        return ADDED_SERVICES.get(name)

    return ADDED_SERVICES.keep_usable(ADDED_SERVICES, "Its operations are left out.", load)


def find_part(service: "Service", name: str) -> Any:
    """An added part of a service; raises InputError where its plugin is switched off."""
    try:
        return getattr(service, name)
    except AttributeError as error:
        raise InputError(describe_absence(name)) from error


def describe_absence(name: str) -> str:
    """Why there is no part of this name."""
    return (
        f"There are no operations {name!r}: the plugin that brings them is switched off "
        f"({PLUGINS_OFF}) or was taken away."
    )
