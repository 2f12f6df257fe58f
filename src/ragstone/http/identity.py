"""Who sends a request: what the routes know of it, and how a route asks for a role.

What routes depend on is `async`, here and elsewhere, because FastAPI runs the rest on threads.

Whose settings and prompts an administrator may see and change.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request

from ragstone.access.gate import LOCAL_USER_HELP
from ragstone.core.caller import GUEST, Caller, Role
from ragstone.core.errors import Forbidden, Unauthorized, UnknownCollection
from ragstone.core.turn import Principal


def request_caller(request: Request) -> Caller:
    """Return who sends this request, as `guards.Authenticate` found out.

    Raises Unauthorized where it did not: a route that nothing stands before answers nobody.
    """
    caller = getattr(request.state, "caller", None)
    if not isinstance(caller, Caller):
        raise Unauthorized(
            "This needs a credential. Send an API key as 'Authorization: Bearer KEY'."
        )
    return caller


async def current_caller(request: Request) -> Caller:
    """Return the same, for routes to depend on."""
    return request_caller(request)


F = TypeVar("F", bound=Callable[..., Any])
_GUESTS, _OPEN, _VISITORS = "ragstone_guests", "ragstone_open", "ragstone_visitors"

Who = Annotated[Caller, Depends(current_caller)]
"""The parameter of a route that answers for the caller."""


def at_least(role: Role) -> Callable[[Caller], Awaitable[None]]:
    """Return what lets a request pass only if its caller has `role`."""

    async def check(caller: Who) -> None:
        check_role(caller, role)

    return check


def for_guests(endpoint: F) -> F:
    """Let guests use a route; every other one is closed to them."""
    setattr(endpoint, _GUESTS, True)
    return endpoint


def open_to_all(endpoint: F) -> F:
    """Ask nobody for a credential at a route: a probe has none, or the request is signed."""
    setattr(endpoint, _OPEN, True)
    return endpoint


def is_open_to_all(endpoint: object) -> bool:
    """Tell whether the route of this function is `open_to_all`."""
    return hasattr(endpoint, _OPEN)


def for_visitors(tenant: str | None) -> Callable[[F], F]:
    """Let the visitors of a tenant use a route without a credential; None lets nobody."""

    def mark(endpoint: F) -> F:
        setattr(endpoint, _VISITORS, tenant)
        return endpoint

    return mark


def visited_tenant(endpoint: object) -> str | None:
    """Return the tenant whose visitors may use the route of this function."""
    tenant: str | None = getattr(endpoint, _VISITORS, None)
    return tenant


async def refuse_guests(request: Request) -> None:
    """Raise Unauthorized for a guest at a route that is not `for_guests`."""
    is_guest = getattr(request.state, "caller", None) == GUEST
    if is_guest and not hasattr(request.scope["endpoint"], _GUESTS):
        raise Unauthorized(LOCAL_USER_HELP)


def check_role(caller: Caller, role: Role) -> None:
    """Raise Forbidden unless the caller has `role`; Unauthorized for a guest, who only has to show
    the token of this machine's user."""
    if caller.may(role):
        return
    if caller == GUEST:
        raise Unauthorized(LOCAL_USER_HELP)
    raise Forbidden(
        f"This needs the role {role}; your credential has {caller.role}. Use another one."
    )


def narrow_principal(caller: Caller, collection: str, tenant: str | None = None) -> Principal:
    """Return who asks, within what the credential reaches: a parameter never widens it.

    Only the local user, where there are no credentials, may speak for any tenant. Raises Forbidden
    for another tenant, UnknownCollection for a collection out of reach, as if it did not exist.
    """
    if tenant and tenant != caller.principal.tenant:
        if not caller.local:
            raise Forbidden("Your credential belongs to another tenant; leave tenant_id out.")
        return replace(caller.principal, tenant=tenant)
    if not caller.reaches(collection):
        raise UnknownCollection(collection)
    return caller.principal


def request_tenant(caller: Caller, tenant: str | None) -> str:
    """Return the tenant that a request is about: the caller's, or any that the operator names.

    Raises Forbidden for another one's.
    """
    if tenant and not caller.operator and tenant != caller.principal.tenant:
        raise Forbidden("Your credential belongs to another tenant; leave tenant out.")
    return tenant or caller.principal.tenant


async def _tenant(
    caller: Who,
    tenant: Annotated[
        str | None, Query(max_length=255, description="Whose; the own tenant's if absent.")
    ] = None,
) -> str:
    return request_tenant(caller, tenant)


Tenant = Annotated[str, Depends(_tenant)]
"""The parameter of a route that is about one tenant."""


def of_tenant(caller: Caller, tenant: str, collection: str = "") -> None:
    """Refuse a tenant (empty for all) or a collection that is not the caller's to look at."""
    if not _runs_the_server(caller) and tenant not in ("", caller.principal.tenant):
        raise Forbidden("Your credential belongs to another tenant. Use one of this tenant.")
    if collection and not caller.reaches(collection):
        raise UnknownCollection(collection)


def of_scope(caller: Caller, tenant: str, collection: str) -> None:
    """Refuse to change what is not the caller's: what holds for all (no tenant) or for others, and
    for a credential of single collections everything but those."""
    of_tenant(caller, tenant, collection)
    if not tenant and not _runs_the_server(caller):
        raise Forbidden("This holds for every tenant, and only the operator may change it.")
    if caller.collections is not None and not collection:
        raise Forbidden("Your credential is for single collections only. Use one for all.")


def _runs_the_server(caller: Caller) -> bool:
    """Whether this is the operator, or the local user where no credentials are set."""
    return caller.operator or caller.local


def log_name(caller: Caller) -> str:
    """Who the log says it was."""
    return caller.key or caller.principal.user
