"""Records of the site's registry hold in a real Ragstone."""

import transaction
from plone import api
from plone.app.testing import SITE_OWNER_NAME

from tests.case import RagstoneCase

BOSS = SITE_OWNER_NAME
QUESTION = "What is the code of the harbour gate?"


class SettingsHold(RagstoneCase):
    def setUp(self):
        super().setUp()
        for number in range(4):
            page = api.content.create(self.portal, "Document", f"gate-{number}", title="Gate")
            page.description = f"The code of the harbour gate number {number} is {4711 + number}."
            page.reindexObject()
        self.told()
        self.until(lambda: len(self.sources()) > 1, "it is indexed")

    def told(self):
        transaction.commit()
        self.until(lambda: not len(self.outbox), "Ragstone is told")

    def sources(self):
        return self.ask_now(QUESTION, BOSS)["sources"]

    def test_given_records_then_answers_are_made_with_them(self):
        self.configure(rag_top_k=1, rag_no_answer_message="Ask the harbour master.")
        self.told()
        self.assertEqual(len(self.sources()), 1)
        unknown = self.ask_now("Who painted the ceiling of the opera in Budapest?", BOSS)
        self.assertEqual(unknown["answer"], "Ask the harbour master.")
        self.configure(rag_top_k=None)
        self.told()
        self.assertGreater(len(self.sources()), 1)

    def test_given_a_record_that_ragstone_refuses_then_the_site_says_so_and_the_rest_goes_on(self):
        self.configure(rag_score_high_threshold=99.0)
        self.until(lambda: self.outbox.report.trouble, "the trouble is told")
        page = api.content.create(self.portal, "Document", "more", title="More")
        transaction.commit()
        self.until(lambda: page.UID() not in self.waiting(), "others are sent")
        status = self.request("GET", "@rag-status", BOSS).json()
        self.assertEqual(status["waiting"], 1)
        self.assertIn("high", status["trouble"])
        self.configure(rag_score_high_threshold=None)
        self.told()
        self.assertEqual(self.request("GET", "@rag-status", BOSS).json()["trouble"], "")

    def test_given_another_secret_then_nobody_is_answered_and_the_site_knows_why(self):
        self.configure(ragstone_secret="not the one that Ragstone has")
        refused = self.request("POST", "@rag-ask", BOSS, json={"question": QUESTION, "sync": True})
        self.assertEqual((refused.status_code, refused.json()["type"]), (503, "ServiceUnavailable"))
        self.assertNotIn("secret", refused.text)
        self.until(lambda: "signature" in self.outbox.report.trouble, "the trouble is told")
