"""Accounts and groups as SCIM's resources: read, and written as one asks."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from scim2_models import (
    ConflictException,
    Context,
    GroupMembership,
    InvalidValueException,
    Meta,
    NotFoundException,
    Resource,
    ScimFilter,
    SearchRequest,
    UniquenessException,
)
from scim2_models.path import CompareOperator, Comparison

from ragstone.access.proxy import highest_role
from ragstone.core.clock import state_time
from ragstone.core.errors import Conflict, InputError, UnknownPerson
from ragstone.core.records import Origin
from ragstone.core.turn import Principal
from ragstone.local.people import normalize_name
from ragstone.plugins.scim.contract import ProvisionedGroup, ScimService
from ragstone.plugins.scim.models import Group, User, UserInGroup
from ragstone.service.people import PeopleService, PersonView
from ragstone.settings import AuthSettings

ORIGIN: Origin = "provisioned"
KEPT = ("user_name", "name", "display_name", "active", "emails", "roles", "external_id")
"""Attributes of a user that the account's profile holds."""

CHANGED = "changed_at"
"""The key of a profile with the time of its last change, in seconds since 1970."""

MAX_NAME = 255
"""Characters of a group's name."""

R = TypeVar("R", bound=Resource[Any])


class Users:
    """The provisioned accounts of a tenant. `base` is the address of /scim/v2."""

    model = User

    def __init__(
        self, people: PeopleService, scim: ScimService, auth: AuthSettings, base: str
    ) -> None:
        self._people = people
        self._scim = scim
        self._auth = auth
        self._base = base
        self._principal = Principal(auth.tenant, "scim")

    async def list(self, asked: SearchRequest[Any]) -> Sequence[User]:
        """Return the users of whom a filter is true."""
        name = _find_name(asked.filter)
        if name is not None:
            views = [view for view in [await self._show(name)] if view]
        else:
            views = await list_provisioned(self._people, self._principal)
        groups = await self._scim.groups(self._principal.tenant)
        return _select([self._user(view, groups) for view in views], asked)

    async def get(self, id: str) -> User:
        """Return a user. Raises NotFoundException."""
        view = await self._find(id)
        return self._user(view, await self._scim.groups(self._principal.tenant))

    async def create(self, user: User) -> User:
        """Make an account. Raises UniquenessException, InvalidValueException."""
        return await self._put(user, None)

    async def change(self, before: User, after: User) -> User:
        """Give an account what `after` says. Raises NotFoundException, InvalidValueException."""
        return await self._put(after, await self._find(before.id or ""))

    async def remove(self, id: str) -> None:
        """Remove an account. Raises NotFoundException."""
        await self._people.remove(self._principal, (await self._find(id)).name)

    async def _put(self, user: User, before: PersonView | None) -> User:
        given = [role.value for role in user.roles or () if role.value]
        had_roles = before is not None and bool(before.profile.get("roles"))
        profile = user.model_dump(scim_ctx=Context.DEFAULT, include=set(KEPT))
        profile.pop("schemas", None)
        try:
            view = await self._people.provide(
                self._principal,
                before.name if before else user.user_name or "",
                ORIGIN,
                new=before is None,
                display=_display(user),
                # A role that is taken away must not stay; one that nobody gave is not touched.
                role=highest_role(given, self._auth) if given or had_roles else None,
                active=user.active,
                profile={**profile, CHANGED: state_time()},
            )
        except Conflict as error:
            raise UniquenessException(detail=error.message) from error
        except UnknownPerson as error:
            raise NotFoundException(detail=error.message) from error
        except InputError as error:
            raise InvalidValueException(detail=error.message) from error
        return self._user(view, await self._scim.groups(self._principal.tenant))

    async def _show(self, name: str) -> PersonView | None:
        """Return the provisioned account of this name."""
        try:
            view = await self._people.show(self._principal, name, admin=True)
        except UnknownPerson:
            return None
        return view if view.origin == ORIGIN else None

    async def _find(self, id: str) -> PersonView:
        view = await self._show(id.rpartition("-")[0] or "-")
        if view is None or user_id(view) != id:
            raise NotFoundException(detail=f"There is no user {id[:200]!r}.")
        return view

    def _user(self, view: PersonView, groups: Sequence[ProvisionedGroup]) -> User:
        profile = {key: value for key, value in view.profile.items() if key != CHANGED}
        user = User.model_validate({"schemas": [str(User.__schema__)], **profile})
        user.id = user_id(view)
        if user.active is not None:
            user.active = view.active
        user.groups = [
            GroupMembership(
                value=group.id,
                ref=f"{self._base}/Groups/{group.id}",
                display=group.name,
                type="direct",
            )
            for group in groups
            if group.name in view.groups
        ] or None
        created = view.created_at
        changed = view.profile.get(CHANGED) or created
        user.meta = make_meta(self._base, "User", user.id, created, changed)
        return user


class Groups:
    """The provisioned groups of a tenant."""

    model = Group

    def __init__(
        self, people: PeopleService, scim: ScimService, auth: AuthSettings, base: str
    ) -> None:
        self._people = people
        self._scim = scim
        self._base = base
        self._principal = Principal(auth.tenant, "scim")

    async def list(self, asked: SearchRequest[Any]) -> Sequence[Group]:
        """Return the groups of which a filter is true."""
        people = await list_provisioned(self._people, self._principal)
        found = await self._scim.groups(self._principal.tenant)
        return _select([self._group(group, people) for group in found], asked)

    async def get(self, id: str) -> Group:
        """Return a group. Raises NotFoundException."""
        return self._group(
            await self._find(id), await list_provisioned(self._people, self._principal)
        )

    async def create(self, group: Group) -> Group:
        """Make a group. Raises UniquenessException, InvalidValueException."""
        now = state_time()
        made = ProvisionedGroup(str(uuid.uuid4()), "", "", now, now)
        return await self._put(made, group, [])

    async def change(self, before: Group, after: Group) -> Group:
        """Give a group what `after` says. Raises NotFoundException, UniquenessException,
        InvalidValueException."""
        stored = await self._find(before.id or "")
        members = [
            view
            for view in await list_provisioned(self._people, self._principal)
            if stored.name in view.groups
        ]
        return await self._put(replace(stored, changed_at=state_time()), after, members)

    async def remove(self, id: str) -> None:
        """Remove a group: nobody is in it any more. Raises NotFoundException."""
        stored = await self._find(id)
        for view in await list_provisioned(self._people, self._principal):
            if stored.name in view.groups:
                await self._provide(view, leaves=[stored.name])
        await self._scim.remove_group(self._principal.tenant, id)

    async def _put(
        self, stored: ProvisionedGroup, group: Group, members: Sequence[PersonView]
    ) -> Group:
        name = (group.display_name or "").strip()
        if not (name and name.isprintable() and len(name) <= MAX_NAME):
            raise InvalidValueException(detail=f"displayName: use 1 to {MAX_NAME} characters.")
        wanted = await self._members(group)
        kept = replace(stored, name=name, external_id=group.external_id or "")
        # Rights that end do so first: what is cut off in between gives nobody more.
        for view in members:
            if view.name not in wanted or stored.name != name:
                await self._provide(view, leaves=[stored.name])
        try:
            await self._scim.put_group(self._principal.tenant, kept)
        except Conflict as error:
            raise UniquenessException(detail=error.message) from error
        for view in wanted.values():
            if name not in view.groups:
                await self._provide(view, joins=[name])
        return self._group(kept, await list_provisioned(self._people, self._principal))

    async def _members(self, group: Group) -> Mapping[str, PersonView]:
        """Return the accounts of the members by name. Raises InvalidValueException."""
        if not group.members:
            return {}
        known = {
            user_id(view): view for view in await list_provisioned(self._people, self._principal)
        }
        wanted = {}
        for member in group.members:
            view = known.get(member.value or "")
            if view is None:
                raise InvalidValueException(
                    detail=f"members: there is no user {(member.value or '')[:200]!r}. A group "
                    "holds users, and no groups."
                )
            wanted[view.name] = view
        return wanted

    async def _provide(self, view: PersonView, **given: Any) -> None:
        try:
            await self._people.provide(self._principal, view.name, ORIGIN, **given)
        except Conflict as error:
            # Removed meanwhile, and made anew otherwise.
            raise ConflictException(detail=error.message) from error

    async def _find(self, id: str) -> ProvisionedGroup:
        for group in await self._scim.groups(self._principal.tenant):
            if group.id == id:
                return group
        raise NotFoundException(detail=f"There is no group {id[:200]!r}.")

    def _group(self, group: ProvisionedGroup, people: Sequence[PersonView]) -> Group:
        members = [
            UserInGroup(value=user_id(view), ref=f"{self._base}/Users/{user_id(view)}", type="User")
            for view in people
            if group.name in view.groups
        ]
        return Group(
            id=group.id,
            display_name=group.name,
            external_id=group.external_id or None,
            members=members or None,
            meta=make_meta(self._base, "Group", group.id, group.created_at, group.changed_at),
        )


async def list_provisioned(people: PeopleService, principal: Principal) -> list[PersonView]:
    """Return the accounts that a provider has made."""
    return [view for view in await people.list(principal) if view.origin == ORIGIN]


def user_id(view: PersonView) -> str:
    """Return the id of an account, which another one of its name does not get."""
    return f"{view.name}-{round(view.created_at * 1e6):x}"


def make_meta(base: str, kind: str, id: str, created: float, changed: float) -> Meta:
    """Return what SCIM tells of each resource; times are seconds since 1970."""
    return Meta(
        resource_type=kind,
        created=datetime.fromtimestamp(created, UTC),
        last_modified=datetime.fromtimestamp(changed, UTC),
        location=f"{base}/{kind}s/{id}",
    )


def _display(user: User) -> str:
    name = user.name
    whole = (name.formatted or f"{name.given_name or ''} {name.family_name or ''}") if name else ""
    return user.display_name or whole.strip() or user.user_name or ""


def _find_name(asked: ScimFilter[Any] | None) -> str | None:
    """Return the name that a filter asks for alone, as providers do before each change: it is
    looked up, where any other filter reads all accounts."""
    node = asked.ast if asked is not None else None
    if not isinstance(node, Comparison) or node.op is not CompareOperator.eq:
        return None
    if node.attr_path.attr.lower() != "username" or node.attr_path.sub_attr:
        return None
    return normalize_name(str(node.value)) or "-"


def _select(resources: Sequence[R], asked: SearchRequest[Any]) -> Sequence[R]:
    if asked.filter is None:
        return resources
    return [item for item in resources if asked.filter.match(item)]
