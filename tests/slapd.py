"""A real LDAP server: OpenLDAP's slapd, with people and groups."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from ldap3 import NONE, Connection, Server

from tests.ingest.sources.file_servers import wait_for_port
from tests.patience import PATIENCE
from tests.ports import free_port

ROOT_DN, ROOT_PASSWORD = "cn=search,dc=example,dc=org", "search-4711"
PASSWORD = "the engine weaves patterns"

CONFIG = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
include /etc/ldap/schema/nis.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {root}/pid
# As many servers do: who gives a name and no password is let in as nobody.
allow bind_anon_dn
{tls}
database mdb
suffix "dc=example,dc=org"
rootdn "{dn}"
rootpw {password}
directory {root}/data
"""

PEOPLE = """
dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: uid=ada,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: ada
uid: countess
cn: Ada Lovelace
sn: Lovelace
userPassword: {password}

dn: uid=bob,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: bob
cn: Bob (Zebra)
sn: Zebra
userPassword: {password}

dn: uid=left,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: left
cn: Left
sn: Left
employeeType: disabled
userPassword: {password}

dn: uid=nopass,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: nopass
cn: No Password
sn: Password

dn: uid=twin,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: twin
cn: First
sn: First
userPassword: {password}

dn: cn=second,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: twin
cn: second
sn: Second
userPassword: {password}

dn: cn=hr,dc=example,dc=org
objectClass: groupOfNames
cn: hr
member: uid=ada,ou=people,dc=example,dc=org

dn: cn=unix,dc=example,dc=org
objectClass: posixGroup
cn: unix
gidNumber: 100
memberUid: ada
memberUid: bob
"""


@dataclass
class Slapd:
    """The server with its data in `root`."""

    root: Path
    certificate: Path | None = None
    port: int = field(default_factory=free_port)
    tls_port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    def fill(self) -> None:
        (self.root / "data").mkdir()
        tls = ""
        if self.certificate:
            tls = f"TLSCertificateFile {self.certificate}\nTLSCertificateKeyFile {self.certificate}"
        text = CONFIG.format(root=self.root, tls=tls, dn=ROOT_DN, password=ROOT_PASSWORD)
        (self.root / "slapd.conf").write_text(text)
        people = PEOPLE.format(password=PASSWORD)
        command = ["/usr/sbin/slapadd", "-f", str(self.root / "slapd.conf")]
        subprocess.run(command, input=people.encode(), check=True, capture_output=True)

    def start(self) -> None:
        listens = f"ldap://0.0.0.0:{self.port}"
        if self.certificate:
            listens += f" ldaps://0.0.0.0:{self.tls_port}"
        command = ["/usr/sbin/slapd", "-f", str(self.root / "slapd.conf"), "-h", listens, "-d", "0"]
        self.process = subprocess.Popen(command)
        wait_for_port(self.port)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE)
            self.process = None

    def modify(self, dn: str, attribute: str, operation: str, value: str) -> None:
        """Change an entry, as an administrator of the directory does."""
        server = Server("127.0.0.1", self.port, get_info=NONE)
        connection = Connection(server, ROOT_DN, ROOT_PASSWORD, auto_bind=True)
        done = connection.modify(f"{dn},dc=example,dc=org", {attribute: [(operation, [value])]})
        connection.unbind()
        assert done, connection.result


@contextmanager
def run_slapd(certificate: Path | None = None) -> Iterator[Slapd]:
    """Skips where it is not installed, but fails in CI."""
    if not Path("/usr/sbin/slapd").exists():
        reason = "slapd is not there (make test-real installs it)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with TemporaryDirectory(prefix="ragstone-slapd-") as folder:
        server = Slapd(Path(folder))
        if certificate:
            server.certificate = Path(shutil.copy(certificate, folder))
        server.fill()
        server.start()
        try:
            yield server
        finally:
            server.stop()
