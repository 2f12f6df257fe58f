"""An answer as a program sees it: one object with text, sources and what is known of them."""

from dataclasses import dataclass

from ragstone.core import answer as said
from ragstone.core.answer import (
    Computed,
    Confidence,
    Finish,
    Statement,
    Sufficiency,
    Usage,
    Verdict,
    Verification,
)
from ragstone.core.source import Source, sources
from ragstone.core.turn import StageTrace, Turn


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its sources; as a string it is its text.

    `supported` states that the sources say all of it, `answers` that it is what was asked: each
    with `holds`, a `confidence` (0..1) and its `level`, None where nobody looked. `confidence` is
    how likely both hold.

    `text` has markers such as `[1]`, the numbers of `sources`: every passage that the answer was
    made from, those that it cites with `cited`. `verdicts` say of each sentence whether the sources
    support it. `finish` is stop, length, refused or blocked. `confidence` (0..1) is None where it
    is unknown. `grounded` says whether the sources support enough of the answer, and `groundedness`
    (0..1) how much; None where that was not checked. `corrected` is the question as it was
    searched if its spelling was put right, else empty. `suggested` are questions to go on with.
    `cut_short` says which limit ended the work of an agent early, empty where none did.
    `computed` is the query over a table that it is the result of, where it is one.
    `verified` says who answers for it, where a person has verified it.
    `trace` says what each stage did, and how long it took; `seconds` is their sum.
    """

    question: str
    text: str
    sources: tuple[Source, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    finish: Finish = "stop"
    model: str = ""
    confidence: float | None = None
    confidence_level: Confidence | None = None
    grounded: bool | None = None
    groundedness: float | None = None
    supported: Statement | None = None
    answers: Statement | None = None
    computed: Computed | None = None
    verified: Verification | None = None
    corrected: str = ""
    cut_short: str = ""
    suggested: tuple[str, ...] = ()
    sufficiency: Sufficiency | None = None
    usage: Usage = Usage()
    trace: tuple[StageTrace, ...] = ()
    seconds: float = 0.0

    def __str__(self) -> str:
        return self.text

    @property
    def refused(self) -> bool:
        """Whether this says that the documents do not hold the answer."""
        return self.finish == "refused"

    @property
    def cited(self) -> tuple[Source, ...]:
        """The sources that the text cites."""
        return tuple(source for source in self.sources if source.cited)

    @property
    def cost(self) -> float | None:
        """What the chat model's calls cost in US dollars; None if there were none, or if their
        price is unknown."""
        return self.usage.cost


def to_answer(turn: Turn) -> Answer:
    """The answer of a turn that has ended."""
    given = turn.answer or said.GeneratedAnswer()
    return Answer(
        question=turn.ask.question,
        text=given.text,
        sources=sources(turn),
        verdicts=turn.verdicts,
        finish=given.finish,
        model=given.model,
        confidence=given.confidence,
        confidence_level=given.confidence_level,
        grounded=given.is_grounded,
        groundedness=given.groundedness_score,
        supported=given.supported,
        answers=given.answers,
        computed=given.computed,
        verified=given.verified,
        cut_short=turn.cut_short,
        corrected=turn.question if turn.original else "",
        suggested=given.suggested,
        sufficiency=given.sufficiency,
        usage=turn.usage,
        trace=turn.trace,
        seconds=turn.seconds,
    )
