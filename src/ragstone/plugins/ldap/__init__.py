"""People sign in with the password that an LDAP directory knows."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "People sign in with the password that an LDAP directory knows.",
    {
        "directories": {"ldap": Extension(f"{__name__}.opening:open_directory", extra="ldap")},
        "settings": {"ldap": Extension(f"{__name__}.settings:LdapSettings")},
    },
)
