"""A model of natural language inference that reads claims instead of the bundled reader."""

from collections.abc import Sequence

from ragstone.plugins.named_models.pair_models import Inference, NliModel
from ragstone.ports import Pair, PairReader, PairReading


class InferenceReader:
    """`ports.PairReader` that gives claims to `model` and questions to `questions`.

    A model of natural language inference knows statements only.
    """

    def __init__(self, model: NliModel, questions: PairReader) -> None:
        self._model = model
        self._questions = questions

    async def read(self, pairs: Sequence[Pair]) -> list[PairReading]:
        claims = [pair for pair in pairs if not pair.question]
        premises = (f"{c.title}\n{c.passage}" if c.title else c.passage for c in claims)
        stated = [(premise, claim.text) for premise, claim in zip(premises, claims, strict=True)]
        inferred = iter(await self._model.infer(stated))
        asked = iter(await self._questions.read([pair for pair in pairs if pair.question]))
        return [next(asked) if pair.question else _build_reading(next(inferred)) for pair in pairs]

    async def aclose(self) -> None:
        await self._model.aclose()
        await self._questions.aclose()


def _build_reading(found: Inference) -> PairReading:
    """Return a claim that was not read to its end is not said."""
    if not found.whole:
        return PairReading(not_said=1.0, readable=False)
    return PairReading(
        supported=found.entailed, contradicted=found.contradicted, not_said=found.neither
    )
