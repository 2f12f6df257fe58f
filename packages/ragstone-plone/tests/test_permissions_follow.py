"""A real Plone site and a real Ragstone: answers follow Plone's permissions, at once after a
commit."""

import transaction
from DateTime import DateTime
from plone import api
from plone.app.testing import SITE_OWNER_NAME
from plone.namedfile.file import NamedBlobFile
from plone.uuid.interfaces import IUUID

from ragstone_plone.sender import SENDER
from tests.case import RagstoneCase

QUESTION = "What is the code of the harbour gate?"
CODE = "4711"


class PermissionsFollow(RagstoneCase):
    def setUp(self):
        super().setUp()
        self.ann, self.bob = self.user("ann"), self.user("bob")
        self.boss = SITE_OWNER_NAME
        self.asked = 0
        self.folder = api.content.create(self.portal, "Folder", "port", title="Port")
        self.page = api.content.create(
            self.folder,
            "Document",
            "gate",
            title="Harbour gate",
            description=f"The code of the harbour gate is {CODE}.",
        )
        self.told()

    def told(self):
        """Commit, and wait until Ragstone has taken all."""
        transaction.commit()
        self.until(lambda: not len(self.outbox), "Ragstone is told")

    def knows(self, user=None):
        """Whether somebody's answer holds the code. The question is a new one each time, for
        answers to equal ones are kept some minutes."""
        self.asked += 1
        question = QUESTION + " " + "?" * self.asked
        found = self.ask_now(question, user) if user else self.ask(question)
        told = CODE in found["answer"] or any(CODE in item["snippet"] for item in found["sources"])
        self.assertIs(bool(found["sources"]), told, found)
        return told

    def who_knows(self):
        return [user for user in (None, self.ann, self.bob, self.boss) if self.knows(user)]

    def until_known_by(self, *users):
        self.until(lambda: self.who_knows() == list(users), f"known by {users}")

    def closed(self):
        """At once nobody else knows; while Ragstone indexes it anew, the boss may have to wait."""
        self.assertIn(self.who_knows(), ([], [self.boss]))
        self.until_known_by(self.boss)

    def test_given_states_and_sharing_then_answers_follow(self):
        self.until_known_by(self.boss)
        api.content.transition(self.page, "publish")
        self.told()
        self.until_known_by(None, self.ann, self.bob, self.boss)
        api.content.transition(self.page, "retract")
        transaction.commit()
        self.closed()
        api.user.grant_roles(username=self.ann, roles=["Reader"], obj=self.folder)
        self.folder.reindexObjectSecurity()
        self.told()
        self.until_known_by(self.ann, self.boss)
        api.user.revoke_roles(username=self.ann, roles=["Reader"], obj=self.folder)
        self.folder.reindexObjectSecurity()
        transaction.commit()
        self.closed()
        api.group.create(groupname="pilots")
        api.group.grant_roles(groupname="pilots", roles=["Reader"], obj=self.page)
        self.page.reindexObjectSecurity()
        self.told()
        api.group.add_user(groupname="pilots", username=self.bob)
        transaction.commit()
        self.until_known_by(self.bob, self.boss)
        api.group.remove_user(groupname="pilots", username=self.bob)
        transaction.commit()
        self.closed()

    def test_given_moves_changes_and_removals_then_answers_follow(self):
        api.content.transition(self.page, "publish")
        self.told()
        self.until_known_by(None, self.ann, self.bob, self.boss)
        self.page.description = "The code of the harbour gate is 1234."
        self.page.reindexObject()
        self.told()
        self.until(lambda: "1234" in self.ask_now(QUESTION, self.ann)["answer"], "the new code")
        api.content.rename(self.folder, new_id="harbour")
        self.told()

        def places():
            return {item["path"] for item in self.ask_now(QUESTION, self.ann)["sources"]}

        self.until(lambda: places() == {"/harbour/gate"}, "the new path")
        below = {"path": "/plone/harbour"}
        self.assertTrue(self.ask_now(QUESTION, self.ann, **below)["sources"])
        elsewhere = {"path": "/plone/elsewhere"}
        self.assertFalse(self.ask_now(QUESTION, self.ann, **elsewhere)["sources"])
        api.content.delete(self.folder, check_linkintegrity=False)
        transaction.commit()
        self.assertEqual(self.ask_now(QUESTION, self.boss)["sources"], [])
        self.until(
            lambda: self.request("GET", "@rag-status", self.boss).json()["parent_count"] == 0,
            "Ragstone has forgotten it",
        )

    def test_given_a_rename_or_a_move_then_the_page_is_found_at_once(self):
        api.content.transition(self.page, "publish")
        self.told()
        self.until_known_by(None, self.ann, self.bob, self.boss)
        known = self.ask(QUESTION)
        SENDER.on = False
        api.content.rename(self.page, new_id="door")
        transaction.commit()
        again = self.request("POST", "@rag-ask", json={"question": QUESTION}).json()
        self.assertEqual([item["path"] for item in again["sources"]], ["/port/door"])
        self.assertEqual(again["answer"], known["answer"])
        target = api.content.create(self.portal, "Folder", "town", title="Town")
        api.content.move(self.page, target)
        transaction.commit()
        # Another page stands where it stood: nobody is shown one as the other.
        api.content.create(self.folder, "Document", "gate", title="Another")
        transaction.commit()
        answered = self.ask_now(QUESTION + "!", self.ann)
        self.assertEqual([item["path"] for item in answered["sources"]], ["/town/door"])
        self.assertNotIn("uid", answered["sources"][0])
        SENDER.on = True
        self.until(self.send, "all was sent")
        self.until(lambda: self.knows(self.ann), "it is found at its new place")
        below = self.ask_now(QUESTION, self.ann, path="/plone/town")
        self.assertEqual([item["path"] for item in below["sources"]], ["/town/door"])

    def test_given_dates_then_what_is_not_in_force_is_for_editors(self):
        api.content.transition(self.page, "publish")
        self.told()
        self.until_known_by(None, self.ann, self.bob, self.boss)
        self.page.setExpirationDate(DateTime() - 1)
        self.page.reindexObject()
        transaction.commit()
        self.closed()

    def test_given_a_file_in_a_closed_folder_then_it_is_the_folders(self):
        file = NamedBlobFile(
            b"The crane lifts 93 tonnes.", contentType="text/plain", filename="crane.txt"
        )
        api.content.create(self.folder, "File", "crane", title="Crane", file=file)
        self.told()
        question = "How many tonnes does the crane lift?"

        def lifts(user):
            return "93" in self.ask_now(question, user)["answer"]

        self.until(lambda: lifts(self.boss), "the boss is answered")
        self.assertFalse(lifts(self.ann))
        api.content.transition(self.folder, "publish")
        self.told()
        self.until(lambda: lifts(self.ann), "the folder is open")
        api.content.transition(self.folder, "retract")
        transaction.commit()
        self.assertFalse(lifts(self.ann))

    def test_given_a_change_that_ragstone_was_not_told_then_nothing_leaks(self):
        api.content.transition(self.page, "publish")
        self.told()
        self.until_known_by(None, self.ann, self.bob, self.boss)
        known = self.ask(QUESTION)
        self.assertIn(CODE, str(known))
        asked = self.request("POST", "@rag-ask", json={"question": QUESTION})
        self.assertEqual(asked.json()["status"], "completed")
        SENDER.on = False
        api.content.transition(self.page, "retract")
        transaction.commit()
        self.assertEqual(self.waiting(), {IUUID(self.page): False})
        again = self.request("POST", "@rag-ask", json={"question": QUESTION}).json()
        self.assertEqual(again["sources"], [])
        self.assertNotIn(CODE, str(again))
        self.assertEqual(self.who_knows(), [self.boss])

    def test_given_ragstone_is_down_then_editing_goes_on_and_nothing_is_lost(self):
        self.until_known_by(self.boss)
        self.stop()
        api.content.transition(self.page, "publish")
        gone = api.content.create(self.portal, "Document", "gone", title="Gone")
        transaction.commit()
        failed = self.request("POST", "@rag-ask", json={"question": QUESTION})
        self.assertEqual((failed.status_code, failed.json()["type"]), (503, "ServiceUnavailable"))
        self.until(lambda: self.outbox.report.trouble, "the trouble is told")
        self.assertIn(IUUID(self.page), self.waiting())
        status = self.request("GET", "@rag-status", self.boss).json()
        self.assertEqual(status["waiting"], 2)
        self.assertIn("cannot be reached", status["trouble"])
        self.assertNotIn("trouble", self.request("GET", "@rag-status", self.ann).json())
        api.content.delete(gone)
        transaction.commit()
        self.start()
        status = self.request("GET", "@rag-status", self.boss).json()
        self.assertEqual(status["trouble"], "", "it is over, though all may not have been sent yet")
        self.until(lambda: not len(self.outbox), "all was sent again")
        self.until_known_by(None, self.ann, self.bob, self.boss)
