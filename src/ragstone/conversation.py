"""Whose a conversation is."""

from dataclasses import dataclass

from ragstone.turn import Principal


@dataclass(frozen=True, slots=True)
class Place:
    """One room of one user. `user` is the principal's, `user_id` the client's own account."""

    tenant: str
    user: str
    room: str
    user_id: str = ""


def place(principal: Principal, room: str, user_id: str = "") -> Place:
    """The place of a room."""
    return Place(principal.tenant, principal.user, room, user_id)
