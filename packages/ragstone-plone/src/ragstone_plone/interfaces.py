"""The records of the add-on in the site's registry, under the names of Plone's RAG document."""

from plone.theme.interfaces import IDefaultPloneLayer
from zope import schema
from zope.interface import Interface

from ragstone_plone import _

PREFIX = "wcs.backend"
"""How the records begin, as the document prints them: `wcs.backend.rag_content_types`."""


class IRagstoneLayer(IDefaultPloneLayer):
    """Marks requests to a site that has the add-on."""


class IRagSettings(Interface):
    """Empty numbers and texts leave it to Ragstone's own settings."""

    ragstone_url = schema.TextLine(
        title=_("Address of Ragstone"),
        description=_("For instance http://127.0.0.1:8006, as this Plone reaches it."),
        default="",
        required=False,
    )
    ragstone_secret = schema.Password(
        title=_("Secret"),
        description=_(
            "What signs the calls to Ragstone, the same as its PLONE__WEBHOOK_SECRET: "
            "16 characters or more. Left empty, it stays as it is."
        ),
        default="",
        required=False,
    )
    ragstone_timeout = schema.Int(
        title=_("Seconds to wait for Ragstone"), default=60, min=1, max=600, required=True
    )
    rag_enabled = schema.Bool(
        title=_("Answer questions"),
        description=_("While this is off, nothing is asked and nothing is sent."),
        default=True,
        required=False,
    )
    rag_content_types = schema.List(
        title=_("Content types to index"),
        description=_("Portal types, one per line. Types that the site does not have do no harm."),
        value_type=schema.TextLine(),
        default=["ContentPage", "News", "File", "Contact", "Book", "Chapter"],
        required=False,
    )
    rag_system_prompt = schema.Text(
        title=_("System prompt"),
        description=_("What a chat model is told about how to answer."),
        default="",
        max_length=20_000,
        required=False,
    )
    rag_no_answer_message = schema.TextLine(
        title=_("Message without an answer"),
        description=_("What is said where the content holds no answer."),
        default="",
        required=False,
    )
    rag_error_message = schema.TextLine(
        title=_("Message after a failure"),
        description=_("What is said where an answer could not be made."),
        default="The answer could not be made. Please try again later.",
        required=False,
    )
    rag_llm_temperature = schema.Float(
        title=_("Temperature of the chat model"),
        description=_("0.0 always says the same, 1.0 is creative."),
        min=0.0,
        max=2.0,
        required=False,
    )
    rag_llm_max_tokens = schema.Int(title=_("Longest answer, in tokens"), min=1, required=False)
    rag_boost_bm25 = schema.Float(title=_("Weight of words"), min=0.0, required=False)
    rag_boost_knn = schema.Float(title=_("Weight of meaning"), min=0.0, required=False)
    rag_title_boost_factor = schema.Float(
        title=_("Weight of words in the title"), min=0.0, required=False
    )
    rag_score_high_threshold = schema.Float(
        title=_("Least score of high confidence"), min=0.0, required=False
    )
    rag_score_medium_threshold = schema.Float(
        title=_("Least score of medium confidence"), min=0.0, required=False
    )
    rag_top_k = schema.Int(title=_("Passages for an answer"), min=1, required=False)
    rag_num_candidates = schema.Int(title=_("Candidates of a search"), min=1, required=False)
    rag_max_context_length = schema.Int(
        title=_("Most characters that the chat model reads"), min=1, required=False
    )
