"""The setting of SCIM."""

from pydantic import Field, SecretStr, field_validator

from ragstone.settings.added import AddedSection

MIN_CHARACTERS = 32


class ScimSettings(AddedSection):
    """How an identity provider keeps accounts and groups up to date."""

    token: SecretStr = Field(
        SecretStr(""),
        description="The bearer token of the identity provider at /scim/v2, 32 characters or more; "
        "empty for no SCIM.",
    )

    @field_validator("token")
    @classmethod
    def _long_enough(cls, token: SecretStr) -> SecretStr:
        if 0 < len(token.get_secret_value()) < MIN_CHARACTERS:
            raise ValueError(f"it needs {MIN_CHARACTERS} characters or more")
        return token
