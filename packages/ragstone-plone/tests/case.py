"""What the tests of a served site share."""

import shutil
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import requests
import transaction
from plone import api
from plone.app.testing import (
    SITE_OWNER_NAME,
    SITE_OWNER_PASSWORD,
    TEST_USER_ID,
    setRoles,
)
from plone.registry.interfaces import IRegistry
from zope.component import getUtility

from ragstone_plone.interfaces import PREFIX
from ragstone_plone.outbox import outbox_of
from ragstone_plone.sender import SENDER, send_all
from tests.layers import SITE
from tests.server import PATIENCE, SECRET, free_port, ragstone

PASSWORD = "a Password of t3sts!"
JSON = {"Accept": "application/json"}


class SiteCase(unittest.TestCase):
    """A site whose sender sends only when the test says so."""

    layer = SITE

    def setUp(self):
        SENDER.on = False
        self.app, self.portal = self.layer["app"], self.layer["portal"]
        self.url = self.portal.absolute_url()
        setRoles(self.portal, TEST_USER_ID, ["Manager"])
        self.opened = ExitStack()
        self.addCleanup(self.opened.close)

    def configure(self, **records):
        registry = getUtility(IRegistry)
        for name, value in records.items():
            registry[f"{PREFIX}.{name}"] = value
        transaction.commit()

    def user(self, name, *roles):
        api.user.create(
            email=f"{name}@x.org", username=name, password=PASSWORD, roles=("Member", *roles)
        )
        transaction.commit()
        return name

    @property
    def outbox(self):
        self.portal._p_jar.sync()
        return outbox_of(self.portal)

    def waiting(self):
        """What waits, by UID; whether it was removed, or left its place."""
        found = {}
        for _, change in self.outbox.after("", 1000):
            found[change.uid] = found.get(change.uid, False) or change.removed
        return found

    def send(self):
        """Send in a thread without a request, as the sender does."""
        transaction.commit()
        place = self.portal._p_jar.db(), self.portal.getPhysicalPath()
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(send_all, *place).result()

    def request(self, method, path, user=None, password=PASSWORD, **options):
        if user == SITE_OWNER_NAME:
            password = SITE_OWNER_PASSWORD
        given = (user, password) if user else None
        return requests.request(
            method, f"{self.url}/{path}", auth=given, headers=JSON, timeout=PATIENCE, **options
        )


class RagstoneCase(SiteCase):
    """A site with a real Ragstone, whose sender sends by itself."""

    def setUp(self):
        super().setUp()
        self.data = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)
        self.port = free_port()
        plugin = self.app.acl_users.get("jwt_auth") or self.portal.acl_users.jwt_auth
        self.token = plugin.create_token(SITE_OWNER_NAME)
        transaction.commit()
        self.start()
        SENDER.on = True
        self.addCleanup(setattr, SENDER, "on", False)
        self.configure(ragstone_url=f"http://127.0.0.1:{self.port}", ragstone_secret=SECRET)

    def start(self, **variables):
        serve = ragstone(self.url, self.token, self.port, self.data, **variables)
        self.opened.enter_context(serve)

    def stop(self):
        self.opened.close()

    def until(self, check, what):
        """Wait until a check holds."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = check()
            if found:
                return found
            time.sleep(0.2)
        raise AssertionError(
            f"{what}: {check()!r}; waiting {self.waiting()}, {self.outbox.report.trouble}"
        )

    def ask(self, question, user=None, **body):
        """The answer of an asynchronous question."""
        asked = self.request("POST", "@rag-ask", user, json={"question": question, **body})
        assert asked.status_code == 200, asked.text
        found = asked.json()

        def answered():
            polled = self.request(
                "GET", "@rag-ask", user, params={"job_id": found["job_id"]}
            ).json()
            return polled if polled.get("status") != "pending" else None

        return found if found["status"] == "completed" else self.until(answered, question)

    def ask_now(self, question, user, **body):
        response = self.request(
            "POST", "@rag-ask", user, json={"question": question, "sync": True, **body}
        )
        assert response.status_code == 200, response.text
        return response.json()
