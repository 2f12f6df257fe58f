"""The services inside the site: who may call them, and what they say to what is wrong."""

import json

import requests
import transaction
from plone import api
from plone.app.testing import SITE_OWNER_NAME
from plone.uuid.interfaces import IUUID
from zExceptions import BadRequest

from ragstone_plone.outbox import SETTINGS
from ragstone_plone.services.ask import path_below
from ragstone_plone.visitor import visitor
from tests.case import JSON, PASSWORD, SiteCase
from tests.server import free_port


class Services(SiteCase):
    def setUp(self):
        super().setUp()
        self.ann, self.boss = self.user("ann"), SITE_OWNER_NAME
        self.folder = api.content.create(self.portal, "Folder", "port", title="Port")
        self.page = api.content.create(self.folder, "Document", "gate", title="Gate")
        self.configure(
            ragstone_url=f"http://127.0.0.1:{free_port()}",
            ragstone_secret="a secret that is long enough",
            rag_error_message="Ask the harbour master.",
        )

    def post(self, path, body, user=None):
        given = (user, PASSWORD) if user == self.ann else None
        if user == self.boss:
            return self.request("POST", path, user, data=body)
        headers = {**JSON, "Content-Type": "application/json"}
        return requests.post(f"{self.url}/{path}", data=body, headers=headers, auth=given)

    def test_given_bad_input_then_400_with_type_and_message(self):
        bad = [b"{", b"[]", b'"x"', b"\xff", b"{}"]
        for body in (
            {"question": " "},
            {"question": 7},
            {"question": "x" * 5001},
            {"question": []},
        ):
            bad.append(json.dumps(body).encode())
        for path in (["/x"], 7, "x" * 2001, "/../x", "/a/@@b", "http://elsewhere/x"):
            bad.append(json.dumps({"question": "q", "path": path}).encode())
        bad.append(b'{"question": "q", "sync": "yes"}')
        for body in bad:
            answer = self.post("@rag-ask", body)
            self.assertEqual(answer.status_code, 400, (body[:50], answer.text[:300]))
            self.assertEqual(answer.json()["type"], "BadRequest")
            self.assertTrue(answer.json()["message"])
        for query in ("", "?job_id=", "?job_id=" + "x" * 201, "?job_id=a&job_id=b"):
            self.assertEqual(self.request("GET", f"@rag-ask{query}").status_code, 400, query)
        for body in ({}, {"uid": 7}, {"uid": "a/b"}, {"uid": "x", "async": 1}):
            answer = self.post("@rag-index", json.dumps(body), self.boss)
            self.assertEqual(answer.status_code, 400, body)

    def test_given_who_may_not_then_401(self):
        for user in (None, self.ann):
            for path in ("@rag-index", "@rag-index-all", "port/@rag-index-all"):
                answer = self.post(path, b'{"uid": "x"}', user)
                self.assertEqual(answer.status_code, 401, (path, user))
                self.assertEqual(answer.json()["type"], "Unauthorized")
        answer = self.post("@rag-ask", b'{"question": "q", "sync": true}')
        self.assertEqual((answer.status_code, answer.json()["type"]), (401, "Unauthorized"))

    def test_given_a_site_that_lets_no_visitors_ask_then_401(self):
        self.portal.manage_permission("ragstone_plone: Ask", ["Manager", "Member"], 0)
        transaction.commit()
        self.assertEqual(self.post("@rag-ask", b'{"question": "q"}').status_code, 401)
        self.assertEqual(self.post("@rag-ask", b'{"question": "q"}', self.ann).status_code, 503)

    def test_given_no_ragstone_then_503_with_the_sites_own_words(self):
        for user in (None, self.ann):
            answer = self.post("@rag-ask", b'{"question": "q"}', user)
            self.assertEqual(answer.status_code, 503)
            self.assertEqual(
                answer.json(), {"type": "ServiceUnavailable", "message": "Ask the harbour master."}
            )

    def test_given_rag_is_off_then_503_and_the_status_says_so(self):
        self.configure(rag_enabled=False)
        self.assertEqual(self.post("@rag-ask", b'{"question": "q"}').status_code, 503)
        self.assertEqual(self.post("@rag-index-all", b"", self.boss).status_code, 503)
        status = self.request("GET", "@rag-status").json()
        self.assertIs(status["enabled"], False)
        self.assertEqual(status["@id"], f"{self.url}/@rag-status")
        names = {"@id", "enabled", "index_name", "exists", "chunk_count", "parent_count"}
        self.assertEqual(set(status), names | {"dimensions"})

    def test_given_an_object_to_index_then_it_is_queued(self):
        uid = IUUID(self.page)
        answer = self.post("@rag-index", json.dumps({"uid": uid}), self.boss)
        self.assertEqual(
            answer.json(), {"@id": f"{self.url}/@rag-index", "status": "queued", "uid": uid}
        )
        self.assertEqual(self.waiting()[uid], False)
        for body in (b'{"uid": "nobody"}', b'{"uid": "nobody", "async": false}'):
            unknown = self.post("@rag-index", body, self.boss)
            self.assertEqual((unknown.status_code, unknown.json()["type"]), (404, "NotFound"))
        self.assertNotIn("nobody", self.waiting())
        self.configure(rag_content_types=["Document"])
        folder = json.dumps({"uid": IUUID(self.folder)})
        self.assertEqual(self.post("@rag-index", folder, self.boss).status_code, 400)

    def test_given_everything_to_index_then_all_of_the_types_is_queued(self):
        self.configure(rag_content_types=["Document", "Book"])
        self.request("GET", "@rag-status")
        answer = self.post("@rag-index-all", b"", self.boss).json()
        self.assertEqual((answer["status"], answer["queued_count"]), ("queued", 1))
        self.assertEqual(answer["content_types"], ["Document", "Book"])
        self.assertEqual(self.waiting()[IUUID(self.page)], False)
        self.assertEqual(self.waiting()[SETTINGS], False)

    def test_given_a_visitor_then_ragstone_hears_plones_own_names(self):
        api.group.create(groupname="pilots")
        api.group.create(groupname="Site Administrators")
        api.group.add_user(groupname="pilots", username=self.ann)
        with api.env.adopt_user(username=self.ann):
            who = visitor(self.portal, self.layer["request"], "secret")
        self.assertEqual(who["user"], "ann")
        self.assertEqual(set(who["roles"]), {"Member", "Authenticated"})
        self.assertEqual(set(who["groups"]), {"pilots", "AuthenticatedUsers"})
        self.assertIs(who["indexes"], False)
        with api.env.adopt_user(user=api.user.get(username=self.ann)):
            self.portal.acl_users.portal_role_manager.assignRoleToPrincipal("Manager", "ann")
        with api.env.adopt_user(username=self.ann):
            self.assertIs(visitor(self.portal, self.layer["request"], "s")["indexes"], True)

    def test_given_a_group_called_as_a_role_then_its_members_do_not_get_the_role(self):
        self.portal.acl_users.source_groups.addGroup("Manager", title="Fake")
        self.portal.acl_users.source_groups.addPrincipalToGroup("ann", "Manager")
        with api.env.adopt_user(username=self.ann):
            who = visitor(self.portal, self.layer["request"], "secret")
        self.assertNotIn("Manager", who["groups"] + who["roles"])

    def test_given_paths_then_what_is_below_the_site(self):
        api.content.create(self.portal, "Folder", "plone")
        cases = {
            "/plone/port": "/port",
            "/PLONE/port/gate/": "/port/gate",
            "/port": "/port",
            "port//gate": "/port/gate",
            self.url: "/",
            f"{self.url}/port": "/port",
            "/plone": "/",
            "/plone/plone": "/plone",
            "/": "/",
            "/nothing/here": "/nothing/here",
        }
        for path, wanted in cases.items():
            self.assertEqual(path_below(self.portal, path), wanted, path)
        for path in ("http://elsewhere/plone", f"{self.url}x/port", "/a/../b", "/@@x"):
            with self.assertRaises(BadRequest, msg=path):
                path_below(self.portal, path)
