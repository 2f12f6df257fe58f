"""/scim/v2: where an identity provider makes, changes and deactivates accounts and groups."""

from fastapi import APIRouter

from ragstone.core.errors import ConfigError
from ragstone.http.dialects import DialectParts
from ragstone.plugins.scim.settings import ScimSettings


def router(parts: DialectParts) -> APIRouter:
    """The routes; none where no token is set. Raises ConfigError where the library is missing."""
    token = ScimSettings.of(parts.settings).token.get_secret_value()
    if not token:
        return APIRouter()
    try:
        from ragstone.plugins.scim.protocol import make_routes
    except ImportError as error:
        raise ConfigError("SCIM__TOKEN needs a library: pip install 'ragstone[scim]'.") from error
    return make_routes(parts, token)
