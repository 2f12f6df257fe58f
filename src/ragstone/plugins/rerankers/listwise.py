"""The chat model as a reranker: it reads all candidates at once and names them in order.

After Sun et al., "Is ChatGPT Good at Search?" (2023), without the sliding window: candidates that
do not fit one prompt keep their place behind the others.
"""

import re
from collections.abc import Sequence

import numpy as np

from ragstone.core.chunk import Chunk
from ragstone.core.errors import ConfigError
from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.language.markers import neutralize_markers
from ragstone.language.templates import load_shipped
from ragstone.language.tokens import cut_to_budget
from ragstone.models.prompt import fence_source
from ragstone.ports import Completer, Judgement, Templates
from ragstone.retrieve.rerank import RERANKER_WEIGHT
from ragstone.retrieve.rerankers import RerankerParts

MAX_PASSAGES = 20
PASSAGE_TOKENS = 150

_NUMBER = re.compile(r"\d{1,3}")


class ListwiseReranker:
    """`ports.Reranker` on a chat model."""

    def __init__(self, model: Completer, templates: Templates | None = None) -> None:
        self.name = model.name
        self._model = model
        self._templates = templates

    async def judge(
        self,
        collection: Collection,
        question: str,
        chunks: Sequence[Chunk],
        encoded: EncodedQuestion | None = None,
    ) -> Judgement:
        read = chunks[:MAX_PASSAGES]
        passages = "\n".join(
            fence_source(
                f"[{i}] {neutralize_markers(chunk.heading)}",
                cut_to_budget(chunk.text, PASSAGE_TOKENS),
            )
            for i, chunk in enumerate(read, start=1)
        )
        own = await self._templates.texts(collection.tenant) if self._templates else {}
        rules = (own.get("rerank") or load_shipped("rerank") or "").strip()
        said = await self._model.complete(
            rules, f"{passages}\n\nQuestion: {question}", 6 * MAX_PASSAGES
        )
        order = parse_ranking(said.text, len(read))
        none = np.zeros(len(chunks), np.float32)
        if not order:
            return Judgement(none, 0.0, f"{self.name} named no passage", said.usage)
        rest = [i for i in range(len(chunks)) if i not in order]
        for place, i in enumerate([*order, *rest]):
            none[i] = 1 - place / len(chunks)
        reason = f"{self.name} put {len(order)} in order"
        return Judgement(none, RERANKER_WEIGHT, reason, said.usage)

    async def aclose(self) -> None:
        """The model belongs to the answerer."""


def open_listwise(parts: RerankerParts) -> ListwiseReranker:
    """Make the reranker of the chat model; raises ConfigError where there is none."""
    if parts.chat is None:
        raise ConfigError("RERANK__MODEL is llm, but no chat model is set: set LLM__MODEL.")
    return ListwiseReranker(parts.chat, parts.templates)


def parse_ranking(said: str, count: int) -> list[int]:
    """The passages (from 0) that a reply names, each once, without those that do not exist."""
    numbers = (int(match.group()) - 1 for match in _NUMBER.finditer(said))
    return list(dict.fromkeys(number for number in numbers if 0 <= number < count))
