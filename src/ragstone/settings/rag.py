"""Retrieval and answering.

What happens to a question before anything is searched.
"""

from typing import Literal

from pydantic import Field, SecretStr

from ragstone.settings.section import Seconds, Section

MEANING = 0.4
"""Share of meaning in the fused score, the rest is words, unless boosts or a request say otherwise
(`python -m benchmarks retrieval`)."""


class RagSettings(Section):
    """Retrieval and answering."""

    top_k: int = Field(10, ge=1, le=100, description="Passages that the answer is made from.")
    candidates: int = Field(100, ge=10, le=1000, description="Chunks taken from each search.")
    use_hybrid_search: bool = Field(
        True, description="Whether it is searched by meaning and words, or by meaning alone."
    )
    boost_bm25: float | None = Field(
        None, ge=0, description="What words count beside boost_knn; without both .6 of the score."
    )
    boost_knn: float | None = Field(
        None, ge=0, description="What meaning counts beside boost_bm25; without both .4."
    )
    fusion: Literal["scores", "ranks"] = Field(
        "scores", description="How meaning and words are combined: scores, or ranks (RRF)."
    )
    rrf_k: int = Field(30, ge=1, description="Damping of ranks, where fusion is ranks.")
    title_boost: float = Field(
        0.0, ge=0, le=100, description="Share of the score for a title that says it all."
    )
    rerank: bool = Field(True, description="Whether the best candidates are compared again.")
    tree: Literal["off", "traversal", "collapsed"] = Field(
        "traversal",
        description="How trees of summaries (INGEST__TREE) are used: traversal, for what is to be "
        "summed up and is too long to be read; collapsed, passages are found by summaries too; "
        "off, not at all.",
    )
    similarity_threshold: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Least similarity of a passage to the question, on the scale that is the same "
        "for every embedder; 0 keeps all. The pipeline document's 0.40 is a plain cosine: on this "
        "scale it drops passages that answer, while the reranker already puts them last.",
    )
    verification_enabled: bool = Field(
        True,
        description="Whether passages are verified before the answer is made from them: by their "
        "likeness, and by the chat model where answers are judged too.",
    )
    knowledge_graph_enabled: bool = Field(
        False,
        description="Whether a graph is kept of what documents name, and adds passages that the "
        "names of the question and of the best passages lead to.",
    )
    context_tokens: int = Field(3000, ge=100, description="Most tokens of passages in one prompt.")
    context_chars: int = Field(
        0, ge=0, description="Most characters of passages in one prompt; 0 is no further limit."
    )
    compression: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of a passage's tokens that goes to the answerer: the sentences that "
        "matter for the question; 1 sends passages whole.",
    )
    mode: Literal["simple", "advanced", "precise"] = Field(
        "simple", description="How answers are worded, unless a request says."
    )
    prompt_layout: Literal["sources", "references", "context", "last"] = Field(
        "sources",
        description="How a prompt shows the sources: sources, each in a fence before the "
        "conversation; last, the same behind it, with the question, so that a server's prefix "
        "cache has the conversation; references, as chat-core's before the question, with the "
        "numbers of those used at the end; context, as VoiceHelper's, with --- between them.",
    )
    rewrite: Literal[
        "auto", "none", "multi", "hyde", "step_back", "decompose", "keywords", "combined"
    ] = Field(
        "auto",
        description="How a question is searched in other words too: auto is what its level and "
        "intent call for; combined is multi, hyde and step_back at once.",
    )
    query_expansion_enabled: bool = Field(
        False,
        description="Whether every question is searched in other words of the chat model, where "
        "rewrite is auto.",
    )
    hyde_enabled: bool = Field(
        False,
        description="Whether a short or abstract question is searched with a passage that the "
        "chat model imagines, where rewrite is auto.",
    )
    keywords_enabled: bool = Field(
        False,
        description="Whether every question is searched by further terms of the chat model too, "
        "where rewrite is auto.",
    )
    rewrites: int = Field(
        3, ge=1, le=10, description="Questions searched where it is, the original one included."
    )
    forbidden_check_enabled: bool = Field(
        True, description="Whether questions are compared with the forbidden topics."
    )
    forbidden_check_threshold: float = Field(
        0.3, ge=0, le=1, description="How alike a question and a topic must be to be looked at."
    )
    forbidden_check_mode: Literal["qdrant", "llm"] = Field(
        "llm",
        description="Who decides on a question near a forbidden topic: qdrant, the likeness "
        "alone; llm, the chat model, and fixed rules where there is none.",
    )
    forbidden_guidance: str = Field(
        "This question concerns a topic that is not answered here. Ask your administrator.",
        min_length=1,
        description="What the asker of a forbidden question is told.",
    )
    checking: Literal["report", "hold", "strict", "off"] = Field(
        "report",
        description="What is done with the verdict on each sentence: report, sent after the "
        "answer; hold, nothing leaves before it is checked; strict, what the documents do not "
        "support is taken out; off, none is made.",
    )
    no_answer: str = Field(
        "The documents do not hold an answer to this question.",
        min_length=1,
        description="What a refusal says.",
    )

    @property
    def meaning(self) -> float:
        """The share (0..1) of meaning against words."""
        knn, bm25 = self.boost_knn, self.boost_bm25
        if knn is None and bm25 is None:
            return MEANING
        knn, bm25 = 1.0 if knn is None else knn, 1.0 if bm25 is None else bm25
        return knn / (knn + bm25) if knn + bm25 else MEANING


class SelfRagSettings(Section):
    """Judging an answer and trying again, at the levels enhanced and maximum or at all."""

    enabled: bool = Field(
        True, description="Whether answers are judged and tried again, unless a request says."
    )
    evaluation_model: str = Field(
        "",
        max_length=200,
        description="Model that grades passages and judges answers, named as LLM__MODEL is and "
        "reached as LLM__* says; empty for the chat model itself.",
    )
    max_iterations: int = Field(3, ge=1, le=10, description="Rounds at most.")
    score_threshold: float = Field(
        70.0, ge=0, le=100, description="Score from which no further round follows."
    )


class EnsembleSettings(Section):
    """Several answers that vote, at the level maximum or where a request asks for it."""

    models: str = Field(
        "",
        description="Models that vote, by comma, each as LLM__MODEL would name it; empty takes "
        "samples of the one model.",
    )

    @property
    def names(self) -> tuple[str, ...]:
        """The models that vote."""
        return tuple(dict.fromkeys(n.strip() for n in self.models.split(",") if n.strip()))


class CacheSettings(Section):
    """The semantic cache."""

    enabled: bool = Field(True, description="Whether equal questions are answered from memory.")
    url: str = Field(
        "", description="redis://... for one cache of several servers; empty for this process."
    )
    max_entries: int = Field(
        1000, ge=10, le=100_000, description="Entries; when full, the oldest tenth goes."
    )
    default_ttl_seconds: Seconds = Field(
        300.0, gt=0, description="Seconds that an entry lives after its last use."
    )
    threshold_mode: Literal["precision", "recall", "adaptive"] = Field(
        "adaptive",
        description="How alike two questions must be before their words are compared: .95 "
        "(precision), or .85 (recall and adaptive).",
    )


class ConversationSettings(Section):
    """Conversations: where they are kept, and what of them is remembered."""

    url: SecretStr = Field(
        SecretStr(""),
        description="mongodb://host/database to keep conversations and statistics in MongoDB, in "
        "the database ragstone if it names none or admin; empty for the state store.",
    )
    db_rehydration_enabled: bool = Field(
        True, description="Whether what was said before this process began is remembered."
    )
    max_history_turns: int = Field(
        15,
        ge=0,
        le=1000,
        description="Most turns that are remembered; a small model keeps fewer (3, 6, 10 or 15 by "
        "its size), and 0 leaves it to that.",
    )

    query_rewriting_enabled: bool = Field(
        True, description="Whether a follow-up is rewritten into a question of its own."
    )


class SpellingSettings(Section):
    """Correction of questions."""

    enabled: bool = Field(True, description="Whether misspelt questions are corrected.")


class AdaptiveSettings(Section):
    """What kind of question it is, and how it is therefore answered."""

    intent_threshold: float = Field(
        0.75, ge=0, le=1, description="How sure examples must be of an intent."
    )
