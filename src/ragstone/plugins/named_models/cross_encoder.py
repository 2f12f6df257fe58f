"""A cross-encoder that RERANK__MODEL names: it reads question and passage together."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ragstone.core.chunk import Chunk
from ragstone.core.errors import ModelUnavailable
from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.plugins.named_models.pair_models import PairModel, relevance
from ragstone.plugins.named_models.places import ModelPlaces
from ragstone.ports import Judgement, Vectors
from ragstone.retrieve.rerank import RERANKER_WEIGHT
from ragstone.retrieve.rerankers.in_time import score_in_time
from ragstone.settings import RerankSettings

SETTING = "RERANK__MODEL"


class CrossEncoder:
    """`ports.Reranker`. `connect` finds the model, opens it and tries it."""

    def __init__(self, settings: RerankSettings, models: ModelPlaces) -> None:
        self.name = settings.model
        self.description = ""
        self._settings = settings
        self._models = models
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cross-encoder")
        self._model: PairModel | None = None

    async def connect(self) -> None:
        """Raises ConfigError for what is not a reranker, ModelUnavailable for a hub that cannot be
        reached."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._open)

    async def judge(
        self,
        collection: Collection,
        question: str,
        chunks: Sequence[Chunk],
        encoded: EncodedQuestion | None = None,
    ) -> Judgement:
        pairs = [(question, chunk.searchable) for chunk in chunks]
        loop = asyncio.get_running_loop()

        async def score(batch: slice) -> Vectors:
            return await loop.run_in_executor(self._thread, self._scores, pairs[batch])

        scores, done = await score_in_time(len(pairs), score)
        reason = f"{done} of {len(pairs)} passages read together with the question"
        return Judgement(scores, RERANKER_WEIGHT, reason)

    async def aclose(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._model = None

    def _open(self) -> None:
        model = PairModel(SETTING, self._settings.model, self._models)
        self._relevance = relevance(model.layout, model.outputs)
        self._model, self.name, self.description = model, model.name, model.description

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        if self._model is None:
            raise ModelUnavailable(f"The reranker {self.name} is closed.")
        scores: Vectors = self._relevance.scores(self._model.logits(pairs))
        return scores
