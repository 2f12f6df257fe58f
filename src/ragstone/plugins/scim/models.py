"""What a user and a group are at /scim/v2, and what the server announces of itself."""

from typing import Annotated, Any

from pydantic import Field
from scim2_models import (
    URN,
    AuthenticationScheme,
    Bulk,
    CaseExact,
    ChangePassword,
    ComplexAttribute,
    Email,
    ETag,
    Filter,
    GroupMembership,
    Mutability,
    Name,
    Patch,
    Reference,
    Required,
    Resource,
    Role,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)

MAX_RESULTS = 1_000


class User(Resource[Any]):
    """The standard's user, with the attributes that are kept. A name is one user for good, as it
    stands in the rights of documents."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Required.true, Uniqueness.server, Mutability.immutable] = None
    name: Name | None = None
    display_name: str | None = None
    active: bool | None = None
    emails: list[Email] | None = None
    roles: list[Role] | None = None
    groups: Annotated[list[GroupMembership] | None, Mutability.read_only] = None


class UserInGroup(ComplexAttribute):
    """A user in a group."""

    value: Annotated[str | None, Mutability.immutable, CaseExact.true] = None
    ref: Annotated[Reference["User"] | None, Mutability.immutable] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    type: Annotated[str | None, Mutability.immutable] = Field(None, examples=["User"])


class Group(Resource[Any]):
    """The standard's group. Its name is that of the group in the rights of documents."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Required.true, Uniqueness.server] = None
    members: list[UserInGroup] | None = None


PROVIDER = ScimProvider(
    [User, Group],
    config=ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
        filter=Filter(supported=True, max_results=MAX_RESULTS),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=True),
        etag=ETag(supported=False),
        authentication_schemes=[
            AuthenticationScheme(
                type="oauthbearertoken",
                name="Bearer token",
                description="The token of the setting SCIM__TOKEN.",
                spec_uri="https://www.rfc-editor.org/info/rfc6750",
                primary=True,
            )
        ],
    ),
    # As Microsoft Entra and Okta send: attributes that are not kept, and members to remove in the
    # value.
    policy=ScimPolicy(
        unknown=ScimPolicy.Unknown.ignore,
        remove_value_as_filter=ScimPolicy.RemoveValue.apply,
        unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
    ),
)
