"""What Ragstone is to be told commits with the change, and stays until it was taken."""

import json
import socket
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import transaction
from plone import api
from plone.namedfile.file import NamedBlobFile
from plone.uuid.interfaces import IUUID
from Products.CMFCore.indexing import processQueue
from ZODB.POSException import ConflictError
from zope.component.hooks import setSite
from zope.globalrequest import clearRequest, getRequest, setRequest

from ragstone_plone.outbox import SETTINGS, Change, outbox_of
from ragstone_plone.sender import SENDER, _events, _opened, _send_each, _site, send_all
from ragstone_plone.settings import read_settings
from tests.case import SiteCase
from tests.server import free_port


@contextmanager
def taking(take):
    """An address that takes every call, and gives its body to `take`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            take(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            """The test keeps the bodies."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Outbox(SiteCase):
    def setUp(self):
        super().setUp()
        self.configure(rag_content_types=["Document", "Folder", "File"])
        self.folder = api.content.create(self.portal, "Folder", "port", title="Port")
        self.page = api.content.create(self.folder, "Document", "gate", title="Gate")
        self.file = api.content.create(
            self.folder, "File", "crane", file=NamedBlobFile(b"x", filename="crane.txt")
        )
        self.all = {IUUID(item) for item in (self.folder, self.page, self.file)}
        transaction.commit()

    def clear(self):
        outbox = self.outbox
        for key, _ in outbox.after("", 1000):
            outbox.done(key)
        transaction.commit()
        self.assertEqual(len(self.outbox), 0)

    def noted(self):
        transaction.commit()
        return {uid: removed for uid, removed in self.waiting().items() if uid != SETTINGS}

    def test_given_new_content_then_it_waits(self):
        self.assertEqual(self.noted(), dict.fromkeys(self.all, False))

    def test_given_an_aborted_edit_then_nothing_waits(self):
        self.clear()
        api.content.transition(self.page, "publish")
        api.content.delete(self.file)
        api.content.create(self.portal, "Document", "new")
        transaction.abort()
        self.assertEqual(self.noted(), {})

    def test_given_a_savepoint_that_is_taken_back_then_only_what_was_before(self):
        self.clear()
        self.page.reindexObject()
        processQueue()
        before = transaction.savepoint()
        api.content.delete(self.file)
        before.rollback()
        self.assertEqual(self.noted(), {IUUID(self.page): False})

    def test_given_a_change_that_says_nothing_then_nothing_waits(self):
        self.clear()
        self.page.reindexObject(idxs=["getObjPositionInParent"])
        self.assertEqual(self.noted(), {})

    def test_given_a_state_or_sharing_then_all_below_waits(self):
        for change in ("publish", "retract"):
            self.clear()
            api.content.transition(self.folder, change)
            self.assertEqual(set(self.noted()), self.all, change)
        self.clear()
        api.user.grant_roles(username="test-user", roles=["Reader"], obj=self.folder)
        self.folder.reindexObjectSecurity()
        self.assertEqual(set(self.noted()), self.all)

    def test_given_a_move_a_copy_or_a_removal_of_a_folder_then_all_below_waits(self):
        self.clear()
        api.content.rename(self.folder, new_id="harbour")
        self.assertEqual(self.noted(), dict.fromkeys(self.all, True))
        self.clear()
        copied = api.content.copy(self.folder, self.portal, id="copy")
        self.assertEqual(len(self.noted()), 3)
        self.assertFalse(set(self.noted()) & self.all)
        self.clear()
        api.content.delete(self.folder, check_linkintegrity=False)
        self.assertEqual(self.noted(), dict.fromkeys(self.all, True))
        self.clear()
        uid = IUUID(copied["gate"])
        copied["gate"].reindexObject()
        api.content.delete(copied["gate"])
        self.assertIs(self.noted()[uid], True)

    def test_given_another_type_then_nothing_waits_until_it_is_named(self):
        self.clear()
        event = api.content.create(self.portal, "Event", "fair", title="Fair")
        self.assertEqual(self.noted(), {})
        self.configure(rag_content_types=["Document", "Event"])
        gone = {IUUID(self.folder): True, IUUID(self.file): True}
        self.assertEqual(self.noted(), {**gone, IUUID(event): False})

    def test_given_records_then_ragstone_is_to_be_told(self):
        self.clear()
        self.configure(rag_top_k=7)
        self.assertEqual(self.waiting(), {SETTINGS: False})
        self.clear()
        self.configure(rag_system_prompt="Be short.")
        self.assertEqual(self.waiting(), {})

    def test_given_a_later_change_then_the_earlier_one_does_not_take_it_along(self):
        self.clear()
        self.page.reindexObject()
        transaction.commit()
        ((earlier, _),) = self.outbox.after("", 10)
        self.page.reindexObject()
        transaction.commit()
        self.outbox.done(earlier)
        self.assertEqual(self.noted(), {IUUID(self.page): False})

    def test_given_editors_of_one_object_and_the_sender_at_once_then_none_of_them_fails(self):
        self.clear()
        self.page.reindexObject()
        transaction.commit()
        database, path = self.portal._p_jar.db(), self.portal.getPhysicalPath()
        others = []
        for name in ("one", "two"):
            manager = transaction.TransactionManager()
            connection = database.open(manager)
            site = connection.root()["Application"].unrestrictedTraverse(path)
            others.append((name, manager, connection, outbox_of(site)))
        for name, _, _, outbox in others:
            outbox.put(name, IUUID(self.page))
        for key, _ in self.outbox.after("", 10):
            self.outbox.done(key)
        transaction.commit()
        try:
            for _, manager, _, _ in others:
                manager.commit()
        except ConflictError as error:
            self.fail(f"an editor would have had to save again: {error}")
        finally:
            for _, manager, connection, _ in others:
                manager.abort()
                connection.close()
        self.assertEqual(len(self.outbox), 2)

    def test_given_many_changes_of_an_object_then_one_event_by_how_it_is_now(self):
        settings = read_settings()
        uid = IUUID(self.page)
        cases = (
            ((False, False), uid, "modified"),
            ((True, False), uid, "moved"),
            ((False, True), uid, "moved"),
            ((False,), "gone", "removed"),
            ((True,), "gone", "removed"),
        )
        for removed, uid, event in cases:
            batch = [(f"k{n}", Change(uid, item)) for n, item in enumerate(removed)]
            (found,) = _events(self.portal, settings, batch)
            self.assertEqual((found.uid, found.event, len(found.keys)), (uid, event, len(removed)))

    def test_given_no_ragstone_then_it_stays_and_the_site_knows_why(self):
        self.configure(ragstone_url=f"http://127.0.0.1:{free_port()}", ragstone_secret="x" * 16)
        before = self.waiting()
        self.assertIs(self.send(), False)
        self.assertEqual(self.waiting(), before)
        self.assertIn("cannot be reached", self.outbox.report.trouble)
        self.configure(ragstone_url="")
        self.assertIs(self.send(), False)
        self.assertIn("ragstone_url", self.outbox.report.trouble)
        self.configure(ragstone_url="http://127.0.0.1:1", ragstone_secret="short")
        self.assertIs(self.send(), False)
        self.assertIn("ragstone_secret", self.outbox.report.trouble)
        self.assertEqual(self.waiting(), before)

    def test_given_records_that_change_before_they_are_sent_then_the_new_ones_are_sent(self):
        # The registry remembers what it read as long as a request lasts; the sender has none.
        self.addCleanup(setRequest, getRequest())
        clearRequest()
        told = []
        with taking(lambda body: told.append(body.get("records", {}).get("rag_top_k"))) as url:
            self.configure(ragstone_url=url, ragstone_secret="x" * 16, rag_top_k=3)
            place = self.portal._p_jar.db(), self.portal.getPhysicalPath()
            with _opened(place[0]) as (manager, root), _site(root, place[1]) as site:
                self.assertEqual(read_settings().told["rag_top_k"], 3)
                setSite(self.portal)
                self.configure(rag_top_k=9)
                setSite(site)
                self.assertIsNone(_send_each(manager, site, outbox_of(site)))
        self.assertEqual([value for value in told if value], [9])
        self.assertEqual(self.waiting(), {})

    def test_given_another_process_that_sends_then_this_one_does_not(self):
        outbox = self.outbox
        outbox.lease.owner, outbox.lease.until = "another", 1e12
        transaction.commit()
        before = self.waiting()
        self.assertIs(self.send(), True)
        self.assertEqual((self.waiting(), self.outbox.report.trouble), (before, ""))
        with subprocess.Popen([sys.executable, "-c", ""]) as ended:
            pass
        outbox = self.outbox
        outbox.lease.owner = f"{socket.gethostname()} {ended.pid} x"
        transaction.commit()
        self.assertIs(self.send(), False)
        self.assertTrue(self.outbox.report.trouble)

    def test_given_no_add_on_then_there_is_nothing_to_send(self):
        self.assertIsNone(send_all(self.portal._p_jar.db(), ("", "nowhere")))
        self.assertFalse(SENDER.on)
