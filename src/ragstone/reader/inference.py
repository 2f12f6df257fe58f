"""A model of natural language inference that READER__MODEL names, as `ports.PairReader`.

Such a model knows statements, not questions: those are read by the bundled reader.
"""

from collections.abc import Sequence

from ragstone.models.named.nli import Inference, NliModel
from ragstone.ports import Pair, PairReader, PairReading


class InferenceReader:
    """`ports.PairReader` that gives claims to `model` and questions to `questions`."""

    def __init__(self, model: NliModel, questions: PairReader) -> None:
        self._model = model
        self._questions = questions

    async def read(self, pairs: Sequence[Pair]) -> list[PairReading]:
        claims = [pair for pair in pairs if not pair.question]
        inferred = iter(
            await self._model.infer([(_premise(claim), claim.text) for claim in claims])
        )
        asked = iter(await self._questions.read([pair for pair in pairs if pair.question]))
        return [next(asked) if pair.question else _build_reading(next(inferred)) for pair in pairs]

    async def aclose(self) -> None:
        await self._model.aclose()
        await self._questions.aclose()


def _premise(pair: Pair) -> str:
    return f"{pair.title}\n{pair.passage}" if pair.title else pair.passage


def _build_reading(found: Inference) -> PairReading:
    """A claim that was not read to its end is not said."""
    if not found.whole:
        return PairReading(not_said=1.0, readable=False)
    return PairReading(
        supported=found.entailed, contradicted=found.contradicted, not_said=found.neither
    )
