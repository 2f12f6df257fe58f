"""People with accounts: who they are, what they may, and how they sign in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from pydantic import Field

from ragstone.core.caller import Role
from ragstone.core.records import Origin, Person
from ragstone.core.turn import Principal
from ragstone.service.routes import require_role, route, text

INVITATION_DAYS = 7.0

Name = Annotated[str, text(255, 1)]
Names = Annotated[Sequence[Name], Field(max_length=1_000)]
Secret = Annotated[str, text(1_000)]
Days = Annotated[float, Field(gt=0, le=365)]


@dataclass(frozen=True, slots=True)
class PersonView:
    """An account as others see it. `has_password` says that the invitation was accepted,
    `invited_until` when one that is open ends; `profile` is what a directory told. Times are
    seconds since 1970."""

    name: str
    display: str
    tenant: str
    role: Role
    groups: tuple[str, ...]
    collections: tuple[str, ...] | None
    created_at: float
    has_password: bool
    second_factor: bool
    invited_until: float | None = None
    used_at: float | None = None
    origin: Origin = "here"
    active: bool = True
    profile: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Invitation:
    """A secret with which somebody gives an account its password, once and until `ends_at`."""

    person: PersonView
    secret: str
    ends_at: float


@dataclass(frozen=True, slots=True)
class PersonSession:
    """A browser in which somebody is signed in; `agent` is what it says it is."""

    id: str
    begun_at: float
    used_at: float
    ends_at: float
    agent: str


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """What an authenticator needs: a secret to type, or the same as an address or a picture of it
    (a data address of an SVG)."""

    secret: str
    address: str
    picture: str


@dataclass(frozen=True, slots=True)
class SignInTry:
    """What somebody who signs in has sent. `name` is of another tenant than AUTH__TENANT with that
    before it, as in acme/ada; `device` what the browser has of an earlier time."""

    name: str
    password: str
    code: str = ""
    address: str = ""
    device: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """The secret of a session, and what tells its browser later. Both are empty where a code of the
    second factor is needed too. `person` is whose it is."""

    secret: str = ""
    device: str = ""
    person: Person | None = None


class PeopleService(Protocol):
    """The accounts of a tenant. To a principal of single collections only those exist that reach no
    more. Methods that name an account raise UnknownPerson; all raise StateUnavailable.

    `admin` does what concerns others; without it there is only the principal's own account.
    """

    @require_role("admin")
    @route("POST", "/people")
    async def invite(
        self,
        principal: Principal,
        name: Name,
        *,
        display: Name | None = None,
        role: Role | None = None,
        groups: Names | None = None,
        collections: Names | None = None,
        days: Days = INVITATION_DAYS,
        same_user: bool = False,
    ) -> Invitation:
        """Make an account, which somebody else gives a password: a reader of all collections that
        the principal reaches, unless something else is said. If there is one of this name, it gets
        another invitation, for a new password, and nothing else may be said; the old one holds
        until then.

        A name that a key or anybody's conversations, documents or jobs have already is taken,
        unless it is the `same_user`. Raises InputError, Conflict, Forbidden.
        """
        ...

    @require_role("admin")
    @route("GET", "/people", "people")
    async def list(self, principal: Principal) -> Sequence[PersonView]:
        """The accounts by name."""
        ...

    @require_role("reader")
    @route("GET", "/people/{name}")
    async def show(self, principal: Principal, name: Name, *, admin: bool = False) -> PersonView:
        """An account."""
        ...

    @require_role("admin")
    @route("PATCH", "/people/{name}")
    async def change(
        self,
        principal: Principal,
        name: Name,
        *,
        display: Name | None = None,
        role: Role | None = None,
        groups: Names | None = None,
        collections: Names | None = None,
        all_collections: bool = False,
    ) -> PersonView:
        """Give an account other rights; what is not said stays. They hold at once, and another role
        ends its sessions. Raises InputError, Forbidden."""
        ...

    @require_role("admin")
    @route("DELETE", "/people/{name}", "keys")
    async def remove(self, principal: Principal, name: Name) -> int:
        """Remove an account, end its sessions, and revoke the keys that name its user; how many
        those were. What it asked and who may read which document stays; forgetting a user erases
        that too."""
        ...

    @require_role("reader")
    @route("GET", "/people/{name}/sessions", "sessions")
    async def sessions(
        self, principal: Principal, name: Name, *, admin: bool = False
    ) -> Sequence[PersonSession]:
        """The browsers in which somebody is signed in, the newest first."""
        ...

    @require_role("reader")
    @route("POST", "/people/{name}/sign-out", "ended")
    async def sign_out(
        self,
        principal: Principal,
        name: Name,
        *,
        session: Annotated[str, text(64)] = "",
        admin: bool = False,
    ) -> int:
        """End one session by its id, or all of them; how many ended."""
        ...

    @require_role("reader")
    @route("POST", "/people/{name}/password", {})
    async def set_password(
        self, principal: Principal, name: Name, current: Secret, new: Secret
    ) -> None:
        """Change the principal's own password, and end all of its sessions. Raises InputError,
        TooManyRequests."""
        ...

    @require_role("reader")
    @route("POST", "/people/{name}/second-factor")
    async def begin_second_factor(
        self, principal: Principal, name: Name, password: Secret
    ) -> SecondFactor:
        """What the principal's authenticator needs. It is kept when its first code comes. Raises
        InputError, TooManyRequests."""
        ...

    @require_role("reader")
    @route("PUT", "/people/{name}/second-factor", "recovery_codes")
    async def set_second_factor(
        self, principal: Principal, name: Name, password: Secret, secret: Secret, code: Secret
    ) -> Sequence[str]:
        """From now on ask the principal for a code of its authenticator too, at signing in; the
        codes that stand in for it, each once. Raises InputError, TooManyRequests."""
        ...

    @require_role("reader")
    @route("POST", "/people/{name}/second-factor/end", {})
    async def end_second_factor(
        self, principal: Principal, name: Name, password: Secret = "", *, admin: bool = False
    ) -> None:
        """Ask for no codes any more: the principal with its password, an administrator for somebody
        else without. Raises InputError, TooManyRequests."""
        ...

    async def exist(self) -> bool:
        """Whether there is an account."""
        ...

    async def find_account(self, tenant: str, name: str) -> Person | None:
        """The account of whom others call so, in whatever case."""
        ...

    async def provide(
        self,
        principal: Principal,
        name: Name,
        origin: Origin,
        *,
        new: bool = False,
        display: Name | None = None,
        role: Role | None = None,
        joins: Names = (),
        leaves: Names = (),
        active: bool | None = None,
        profile: Mapping[str, Any] | None = None,
    ) -> PersonView:
        """Keep what a directory says of an account, and make it if there is none; what is not said
        stays, and so do groups that it neither `joins` nor `leaves`. One that is not `active` any
        more loses its sessions and the keys of its user at once. A name that anybody used here
        before is taken as the same user's. Raises InputError, and Conflict for an account of
        another origin, or for any where it must be `new`."""
        ...

    async def sign_in(self, given: SignInTry) -> OpenedSession:
        """Begin a session. Raises Unauthorized, TooManyRequests."""
        ...

    async def read_invitation(self, secret: str) -> PersonView:
        """Whose an invitation is, by the name to sign in with. Raises InputError."""
        ...

    async def accept(self, secret: str, password: str, agent: str = "") -> OpenedSession:
        """Give an account its password, end its sessions, and begin one. Raises InputError."""
        ...

    async def whose(self, session: str) -> Person | None:
        """The person of a session that goes on."""
        ...

    async def end_session(self, session: str) -> None:
        """End a session."""
        ...
