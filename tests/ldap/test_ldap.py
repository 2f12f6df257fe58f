"""People sign in with the password that a real directory knows, and only with that."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.access.gate import find_named
from ragstone.core.caller import Caller
from ragstone.core.errors import Conflict, Unauthorized, Unavailable
from ragstone.core.turn import Principal
from ragstone.local import Ragstone
from ragstone.local import people as people_module
from ragstone.plugins.ldap.directory import LdapDirectory
from ragstone.plugins.ldap.settings import LdapSettings, parse_place
from ragstone.service.people import OpenedSession, PersonView, SignInTry
from ragstone.settings import load
from tests.credentials import a_key
from tests.ingest.sources.certificates import write_certificate
from tests.slapd import PASSWORD, ROOT_DN, ROOT_PASSWORD, Slapd, run_slapd

pytestmark = pytest.mark.real

ME = Principal()
ACTIVE = "(%26(objectClass=person)(!(employeeType=disabled)))"
FAR = "127.0.0.2"
"""An address that is not this machine's only one, as those of a network are not."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "server.pem", "127.0.0.1", FAR)


@pytest.fixture
def slapd(certificate: Path) -> Iterator[Slapd]:
    with run_slapd(certificate) as server:
        yield server


def find_url(server: Slapd, scheme: str = "ldap", host: str = "127.0.0.1") -> str:
    port = server.tls_port if scheme == "ldaps" else server.port
    search = ROOT_DN.replace(",", "%2C")
    return f"{scheme}://{host}:{port}/dc=example,dc=org?uid?sub?{ACTIVE}?bindname={search}"


@asynccontextmanager
async def opened(folder: Path, url: str, **given: Any) -> AsyncIterator[Ragstone]:
    settings = load(
        **{
            "ragstone_data": folder / "data",
            "ldap.url": url,
            "ldap.password": ROOT_PASSWORD,
            **given,
        }
    )
    async with build.open(settings) as service:
        yield service


@pytest.fixture
async def service(tmp_path: Path, slapd: Slapd) -> AsyncIterator[Ragstone]:
    async with opened(tmp_path, find_url(slapd)) as made:
        yield made


async def sign_in(service: Ragstone, name: str, password: str = PASSWORD) -> OpenedSession:
    return await service.people.sign_in(SignInTry(name, password, address="192.0.2.1"))


async def is_refused(service: Ragstone, name: str, password: str = PASSWORD) -> bool:
    try:
        await sign_in(service, name, password)
    except Unauthorized:
        return True
    return False


async def show(service: Ragstone, name: str) -> PersonView:
    return await service.people.show(ME, name, admin=True)


async def test_who_the_directory_knows_signs_in_with_its_groups(service: Ragstone) -> None:
    opened = await sign_in(service, "Ada")

    person = await service.people.whose(opened.secret)
    assert person is not None
    assert (person.name, person.display, person.role) == ("ada", "Ada Lovelace", "reader")
    assert set(person.groups) == {"hr", "unix"}
    assert (await show(service, "ada")).has_password is False
    # From now on nobody is let in without a credential.
    assert await service.keys.exist()


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ada", "wrong password here"),
        ("ada", ""),
        ("ada", "\0"),
        ("nopass", ""),
        ("nopass", PASSWORD),
        ("nobody", PASSWORD),
        ("left", PASSWORD),
        ("twin", PASSWORD),
        ("a*", PASSWORD),
        ("*", PASSWORD),
        ("ada)(uid=*", PASSWORD),
        ("ada\\2a", PASSWORD),
        ("uid=ada,ou=people,dc=example,dc=org", PASSWORD),
        ("acme/ada", PASSWORD),
        ("", PASSWORD),
    ],
)
async def test_nobody_else_gets_in_and_no_account_is_made(
    service: Ragstone, name: str, password: str
) -> None:
    assert await is_refused(service, name, password)
    assert await service.people.list(ME) == []


@pytest.mark.parametrize("name", ["a*", "*", "ada)(uid=*", "ada)(|(uid=*", "\0", "ada\\", "ada "])
async def test_a_name_is_never_a_part_of_the_filter(slapd: Slapd, name: str) -> None:
    section = LdapSettings(url=find_url(slapd), password=SecretStr(ROOT_PASSWORD))
    directory = LdapDirectory(parse_place(section.url), section)
    assert await directory.find("ada") is not None
    assert await directory.find(name) is None
    assert await directory.check(name, PASSWORD) is None


async def test_an_empty_password_is_not_sent_although_the_server_would_take_it(
    slapd: Slapd,
) -> None:
    section = LdapSettings(url=find_url(slapd), password=SecretStr(ROOT_PASSWORD))
    assert await LdapDirectory(parse_place(section.url), section).check("ada", "") is None


async def test_groups_change_at_the_next_look_and_those_given_here_do_not_stay(
    service: Ragstone, slapd: Slapd, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sign_in(service, "ada")
    await service.people.change(ME, "ada", role="editor")
    opened = await sign_in(service, "ada")
    await service.people.change(ME, "ada", groups=["hr", "board"])
    slapd.modify("cn=unix", "memberUid", "MODIFY_DELETE", "ada")
    monkeypatch.setattr(people_module, "CHECK_SECONDS", 0.0)

    person = await service.people.whose(opened.secret)

    assert person is not None
    assert (person.groups, person.role) == (("hr",), "editor")


async def test_a_disabled_account_ends_its_sessions_and_keys_and_may_come_back(
    service: Ragstone, slapd: Slapd, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = await sign_in(service, "bob")
    key = await a_key(service, "reader", "default", "bob")
    slapd.modify("uid=bob,ou=people", "employeeType", "MODIFY_ADD", "disabled")
    monkeypatch.setattr(people_module, "CHECK_SECONDS", 0.0)

    assert await service.people.whose(opened.secret) is None

    assert await is_refused(service, "bob")
    with pytest.raises(Unauthorized):
        await service.keys.whose(key)
    slapd.modify("uid=bob,ou=people", "employeeType", "MODIFY_DELETE", "disabled")
    assert await service.people.whose(opened.secret) is None
    assert (await sign_in(service, "bob")).secret


async def test_while_the_directory_is_down_sessions_go_on_for_a_day_and_others_are_told(
    service: Ragstone, slapd: Slapd, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = await sign_in(service, "ada")
    invitation = await service.people.invite(ME, "root", role="admin")
    await service.people.accept(invitation.secret, PASSWORD)
    slapd.stop()
    monkeypatch.setattr(people_module, "CHECK_SECONDS", 0.0)

    assert await service.people.whose(opened.secret) is not None
    with pytest.raises(Unavailable, match="does not answer"):
        await sign_in(service, "ada")
    # Who has a password here needs no directory.
    assert (await sign_in(service, "root")).secret
    monkeypatch.setattr(people_module, "DAY", 0.0)
    assert await service.people.whose(opened.secret) is None
    slapd.start()
    assert await service.people.whose(opened.secret) is not None


async def test_accounts_that_are_here_are_not_the_directorys(service: Ragstone) -> None:
    invitation = await service.people.invite(ME, "ada", role="admin")
    await service.people.accept(invitation.secret, "a password of this place")
    await service.people.provide(ME, "bob", "provisioned")

    assert await is_refused(service, "ada")
    assert await is_refused(service, "bob")
    assert (await sign_in(service, "ada", "a password of this place")).secret


async def test_a_token_of_the_same_name_and_an_invitation_are_refused(service: Ragstone) -> None:
    await sign_in(service, "ada")
    with pytest.raises(Unauthorized, match="has your name"):
        await find_named(service.people, Caller(Principal(user="ADA"), key="token:ada"))
    with pytest.raises(Conflict, match="no password here"):
        await service.people.invite(ME, "ada")


async def test_a_mapping_makes_groups_of_those_it_names_alone(tmp_path: Path, slapd: Slapd) -> None:
    mapped = {"CN=hr,dc=example,dc=org": "personnel", "nobody": "board"}
    async with opened(tmp_path, find_url(slapd), **{"ldap.groups": mapped}) as service:
        await sign_in(service, "ada")
        assert (await show(service, "ada")).groups == ("personnel",)


@pytest.mark.parametrize(("scheme", "host"), [("ldaps", "127.0.0.1"), ("ldap", FAR)])
async def test_a_certificate_must_be_signed_by_somebody_known(
    tmp_path: Path,
    slapd: Slapd,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
    host: str,
) -> None:
    async with opened(tmp_path, find_url(slapd, scheme, host)) as service:
        with pytest.raises(Unavailable):
            await sign_in(service, "ada")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert (await sign_in(service, "ada")).secret


async def test_a_certificate_must_be_of_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write_certificate(tmp_path / "other.pem", "192.0.2.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(other))
    with run_slapd(other) as server:
        async with opened(tmp_path, find_url(server, "ldaps")) as service:
            with pytest.raises(Unavailable):
                await sign_in(service, "ada")


async def test_without_starttls_nothing_is_sent_over_a_network(tmp_path: Path) -> None:
    with run_slapd() as server:
        async with opened(tmp_path, find_url(server, "ldap", FAR)) as service:
            with pytest.raises(Unavailable):
                await sign_in(service, "ada")


async def test_a_wrong_password_of_the_search_is_no_wrong_password_of_a_person(
    tmp_path: Path, slapd: Slapd
) -> None:
    async with opened(tmp_path, find_url(slapd), **{"ldap.password": "wrong"}) as service:
        with pytest.raises(Unavailable):
            await sign_in(service, "ada")


@pytest.mark.parametrize(
    "url",
    [
        "http://x/dc=x",
        "ldap://",
        "ldaps://host",
        "ldaps://host/dc=x?uid,cn",
        "ldaps://host/dc=x?uid?base",
        "ldaps://host/dc=x?uid?sub?(a=b)?tls=no",
        "ldaps://host:port/dc=x",
    ],
)
def test_a_wrong_address_is_told(url: str) -> None:
    with pytest.raises(ValueError, match=r"write it as|scope|extension|attribute|Port"):
        LdapSettings(url=url)
