"""Makes the directory of the settings; its client is imported only where there is one."""

from typing import TYPE_CHECKING

from ragstone.core.errors import ConfigError
from ragstone.plugins.ldap.settings import LdapSettings, parse_place
from ragstone.settings import Settings

if TYPE_CHECKING:
    from ragstone.plugins.ldap.directory import LdapDirectory


def open_directory(settings: Settings) -> "LdapDirectory | None":
    """The directory of the settings, None for none. Raises ConfigError."""
    section = LdapSettings.of(settings)
    if not section.url:
        return None
    place = parse_place(section.url)
    if place.bind_dn and not section.password.get_secret_value():
        raise ConfigError("LDAP__URL names who searches: give the password in LDAP__PASSWORD.")
    try:
        from ragstone.plugins.ldap.directory import LdapDirectory
    except ImportError as error:
        raise ConfigError("LDAP__URL needs a client: pip install 'ragstone[ldap]'.") from error
    return LdapDirectory(place, section)
