"""The caller described by a token's claims or a proxy's headers, as the settings map them."""

from collections.abc import Mapping, Sequence

from ragstone.core.caller import OF_A_KEY, ROLES, Role
from ragstone.core.errors import Unauthorized
from ragstone.settings import AuthSettings

MOST_CHARACTERS, MOST_NAMES = 255, 1000


def claim(claims: Mapping[str, object], path: str) -> object:
    """A claim by its name, or by a path with dots if none has that name."""
    if path in claims:
        return claims[path]
    value: object = claims
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def text(value: object, what: str) -> str:
    """A name; raises Unauthorized for anything else."""
    if not isinstance(value, str) or not value.strip() or len(value) > MOST_CHARACTERS:
        raise Unauthorized(f"The credential does not say its {what} as a text.")
    return value


def user(value: object) -> str:
    """The name of a user; raises Unauthorized for one that only a key can have."""
    name = text(value, "user")
    if name.startswith(OF_A_KEY):
        raise Unauthorized(f"The name of a user must not begin with {OF_A_KEY!r}.")
    return name


def texts(value: object, what: str) -> tuple[str, ...]:
    """A list of names, or one; raises Unauthorized for anything else."""
    if value is None:
        return ()
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or len(found) > MOST_NAMES:
        raise Unauthorized(f"The credential does not say its {what} as a list of texts.")
    return tuple(dict.fromkeys(text(item, what) for item in found))


def role(names: Sequence[str], settings: AuthSettings) -> Role:
    """The highest role that these names mean, which others of a token's roles do not lower."""
    meant = [settings.roles[name] for name in names if name in settings.roles]
    meant += [item for item in ROLES if item in names and item not in settings.roles]
    return max(meant, key=ROLES.index, default=settings.default_role)
