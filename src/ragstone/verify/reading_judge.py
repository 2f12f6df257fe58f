"""Whether an answer is what was asked: question and answer are read together.

The reader sees two things: whether the answer, taken as a passage, answers the question, and
whether the cited sources support the two together, as they would a statement. The first knows
sentences and the second short answers ("1871"). Both are weighed with `data/judge.json`, which
`python -m training.judge_weights` makes.
"""

import asyncio
from collections.abc import Sequence
from operator import mul

from ragstone.core.answer import StatementKind, log_odds, probability
from ragstone.core.turn import Ask, Passage
from ragstone.language.markers import bare
from ragstone.language.sentences import sentences
from ragstone.ports import Checker, Claim, Embedder, EvidenceSource, PairReader
from ragstone.verify.statement_kinds import LEAST, choose_kind, kind_likelihoods, read_answering
from ragstone.verify.weights import load_weights

WEIGHTS = "judge.json"
NAMES = ("answers", "supported", "constant")
"""Of the weights: of the two log-odds, and what is added to them."""

CLAIMED = 400
"""Characters of an answer that are read as a statement, in whole sentences: a reader's claim is
short."""


class ReadingJudge:
    """`ports.AnswerJudge`; `embedder` is multilingual-e5-small."""

    def __init__(self, reader: PairReader, checker: Checker, embedder: Embedder) -> None:
        self._reader = reader
        self._checker = checker
        self._embedder = embedder

    async def answers(self, ask: Ask, said: str, passages: Sequence[Passage]) -> float:
        if not passages:
            return 0.0
        sources = [EvidenceSource(p.text, p.hit.chunk.heading, p.blocks) for p in passages]
        read = await self.read(ask.question, said, sources)
        return probability(sum(map(mul, load_weights(WEIGHTS, NAMES), (*read, 1.0))))

    async def kinds(
        self, question: str, sentences: Sequence[str], supported: Sequence[float]
    ) -> list[StatementKind | None]:
        likely = await kind_likelihoods(self._embedder, self._reader, question, sentences)
        return list(map(choose_kind, likely, supported))

    async def read(
        self, question: str, said: str, sources: Sequence[EvidenceSource]
    ) -> tuple[float, float]:
        """Return the log-odds that `said` answers the question, and that the sources support the
        two together."""
        text = bare(said)
        statement = await asyncio.to_thread(_first_sentences, text)
        cited = tuple(range(len(sources)))
        [answering] = (await read_answering(self._reader, [(question, text)])).tolist()
        [support] = await self._checker.support([Claim(f"{question} {statement}", cited)], sources)
        return answering, log_odds(support.probability, LEAST)


def _first_sentences(text: str) -> str:
    """Return the sentences that end within `CLAIMED` characters, at least the first."""
    spans = sentences(text)
    ends = [span.end for span in spans if span.end <= CLAIMED]
    return text[: ends[-1] if ends else CLAIMED]
