"""A real Plone with a database of its own, as an administrator runs it: Plone finds the add-on by
itself, and what waits outlives the death of both programs."""

import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import ExitStack, contextmanager
from pathlib import Path

import requests

from tests.server import PATIENCE, SECRET, free_port, ragstone

BIN = Path(sys.executable).parent
BOSS = ("admin", "a Secret of t3sts!")
JSON = {"Accept": "application/json"}

CONFIGURATION = """
%define INSTANCE {place}
instancehome $INSTANCE
<zodb_db main>
  <blobstorage>
    blob-dir $INSTANCE/var/blobs
    <filestorage>
      path $INSTANCE/var/Data.fs
    </filestorage>
  </blobstorage>
  mount-point /
</zodb_db>
"""

MAKE_SITE = """
import transaction
from AccessControl.SecurityManagement import newSecurityManager
from Products.CMFPlone.factory import addPloneSite

newSecurityManager(None, app.acl_users.getUser("admin").__of__(app.acl_users))
site = addPloneSite(
    app,
    "Plone",
    extension_ids=(
        "plone.restapi:default",
        "plone.volto:default",
        "ragstone_plone:default",
    ),
    setup_content=False,
)
site.portal_workflow.setDefaultChain("simple_publication_workflow")
token = site.acl_users.jwt_auth.create_token("admin") if "jwt_auth" in site.acl_users else (
    app.acl_users.jwt_auth.create_token("admin"))
open({token!r}, "w").write(token)
transaction.commit()
"""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


class Instance(unittest.TestCase):
    def setUp(self):
        self.place = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        login = ":".join(BOSS)
        run(str(BIN / "mkwsgiinstance"), "-d", str(self.place / "zope"), "-u", login)
        configuration = self.place / "zope/etc/zope.conf"
        configuration.write_text(CONFIGURATION.format(place=self.place / "zope"))
        script = self.place / "make_site.py"
        script.write_text(MAKE_SITE.format(token=str(self.place / "token")))
        run(str(BIN / "zconsole"), "run", str(configuration), str(script))
        self.plone_port, self.ragstone_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.plone_port}/Plone"
        ini = self.place / "zope/etc/zope.ini"
        text = ini.read_text()
        self.ini = self.place / "zope/etc/test.ini"
        self.ini.write_text(text.replace("port = 8080", f"port = {self.plone_port}"))
        self.stack = ExitStack()
        self.addCleanup(self.stack.close)

    @contextmanager
    def plone(self):
        """Plone until it is killed, at the end at the latest."""
        with tempfile.TemporaryFile() as log:
            command = [str(BIN / "runwsgi"), str(self.ini)]
            process = subprocess.Popen(command, stdout=log, stderr=log)
            try:
                self.until(lambda: self.get("").status_code == 200, "Plone answers")
                yield process
            finally:
                process.kill()
                process.wait()

    def ragstone(self):
        token = (self.place / "token").read_text()
        return ragstone(self.url, token, self.ragstone_port, self.place / "data")

    def get(self, path, auth=None, **options):
        return requests.get(
            f"{self.url}/{path}", auth=auth, headers=JSON, timeout=PATIENCE, **options
        )

    def send(self, method, path, **content):
        found = requests.request(
            method, f"{self.url}/{path}", auth=BOSS, headers=JSON, json=content, timeout=PATIENCE
        )
        self.assertLess(found.status_code, 300, found.text[:2000])
        return found.json() if found.content else {}

    def until(self, check, what):
        end = time.monotonic() + 2 * PATIENCE
        while time.monotonic() < end:
            try:
                found = check()
            except requests.ConnectionError:
                found = None
            if found:
                return found
            time.sleep(0.3)
        raise AssertionError(what)

    def waiting(self):
        return self.get("@rag-status", BOSS).json()["waiting"]

    def test_given_kills_of_plone_and_ragstone_then_nothing_is_lost(self):
        with self.plone() as process:
            panel = {"ragstone_url": f"http://127.0.0.1:{self.ragstone_port}"}
            self.send("PATCH", "@controlpanels/ragstone", **panel, ragstone_secret=SECRET)
            made = self.send("POST", "", **volto_page("Lighthouse", "The lamp burns 40 candles."))
            self.send("POST", "lighthouse/@workflow/publish")
            self.assertGreaterEqual(self.waiting(), 2)
            process.send_signal(signal.SIGKILL)
            process.wait()
        with self.plone(), self.ragstone():
            # Nobody touches the site: what waited is sent because it waited.
            self.until(lambda: self.waiting() == 0, "all was sent")
            body = {"question": "How many candles does the lamp burn?", "sync": True}
            self.until(
                lambda: "40" in self.send("POST", "@rag-ask", **body)["answer"], "it answers"
            )
            status = self.get("@rag-status").json()
            self.assertEqual((status["exists"], status["parent_count"]), (True, 1))
            source = self.send("POST", "@rag-ask", **body)["sources"][0]
            self.assertEqual((source["path"], source["portal_type"]), ("/lighthouse", "Document"))
            told = self.get("lighthouse", BOSS).json()["@components"]["rag-permissions"]
            self.assertEqual(told["allowedRolesAndUsers"], ["Anonymous"])
            done = self.send("POST", "@rag-index", **{"uid": made["UID"], "async": False})
            self.assertEqual((done["status"], done["uid"]), ("indexed", made["UID"]))
            again = self.send("POST", "@rag-index-all")
            self.assertEqual((again["status"], again["queued_count"]), ("queued", 1))


def volto_page(title, text):
    """A page as Volto makes it: of blocks."""
    slate = [{"type": "p", "children": [{"text": text}]}]
    return {
        "@type": "Document",
        "title": title,
        "blocks": {
            "a": {"@type": "title"},
            "b": {"@type": "slate", "value": slate, "plaintext": text},
        },
        "blocks_layout": {"items": ["a", "b"]},
    }
