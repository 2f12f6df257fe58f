"""A site, a Ragstone, a chat model and an embedding service, as the document draws them."""

from plone import api
from plone.app.testing import SITE_OWNER_NAME

from tests.case import RagstoneCase
from tests.models import ANSWER, DIMENSIONS, models

QUESTION = "What is the code of the harbour gate?"


class ModelsBehind(RagstoneCase):
    def start(self):
        self.models = self.opened.enter_context(models())
        printed = {
            "EMBEDDING_BASE_URL": self.models.url,
            "EMBEDDING_API_KEY": "ollama",
            "EMBEDDING_MODEL": "mxbai-embed-large",
            "EMBEDDING_DIMENSIONS": str(DIMENSIONS),
            "LLM_BASE_URL": self.models.url,
            "LLM_API_KEY": "mistral",
            "LLM_MODEL": "llama3.1:8b",
        }
        super().start(**printed)

    def test_given_the_printed_variables_then_models_embed_and_answer_as_the_site_says(self):
        page = api.content.create(self.portal, "Document", "gate", title="Harbour gate")
        page.description = "The code of the harbour gate is 4711."
        page.reindexObject()
        self.configure(
            rag_system_prompt="You are the harbour master.",
            rag_llm_temperature=0.7,
            rag_llm_max_tokens=321,
        )
        self.until(lambda: not len(self.outbox), "Ragstone is told")
        boss = SITE_OWNER_NAME

        self.until(lambda: self.ask_now(QUESTION, boss)["sources"], "the page is indexed")
        answered = self.ask(QUESTION + "?", boss)

        self.assertEqual(answered["answer"], ANSWER)
        self.assertEqual([item["path"] for item in answered["sources"]], ["/gate"])
        told = self.models.asked("chat/completions")[-1]
        streamed = [call for call in self.models.asked("chat/completions") if call.get("stream")]
        self.assertEqual(told["model"], "llama3.1:8b")
        self.assertEqual((streamed[-1]["temperature"], streamed[-1]["max_tokens"]), (0.7, 321))
        self.assertIn("You are the harbour master.", streamed[-1]["messages"][0]["content"])
        self.assertIn("4711", str(streamed[-1]["messages"]))
        embedded = self.models.asked("embeddings")
        self.assertEqual({call["model"] for call in embedded}, {"mxbai-embed-large"})
        self.assertTrue(any("4711" in str(call["input"]) for call in embedded))
        keys = {(path, key) for path, key, _ in self.models.calls}
        self.assertIn(("/v1/embeddings", "Bearer ollama"), keys)
        self.assertIn(("/v1/chat/completions", "Bearer mistral"), keys)
        status = self.request("GET", "@rag-status", boss).json()
        self.assertEqual((status["dimensions"], status["parent_count"]), (DIMENSIONS, 1))
