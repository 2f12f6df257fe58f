"""A verdict on every sentence of an answer, and answers that wait for it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ragstone.answer.generate import Generate
from ragstone.core.answer import Computed, Finish, GeneratedAnswer, Instructions, Usage
from ragstone.core.errors import CheckUnavailable, ModelUnavailable
from ragstone.core.events import Checked, Note, Token
from ragstone.core.turn import Ask, Turn
from ragstone.ports import Claim, EvidenceSource, Said, Support
from ragstone.verify.check import Check, CheckHeld
from ragstone.verify.quoting import NOTE, OTHERWISE
from ragstone.verify.verdicts import parse_labels
from tests.engine.adapters import ran
from tests.engine.samples import a_passage
from tests.local_checker import local_checker

RHINE = "The bridge over the Rhine was built in 1890. It is 320 metres long."
HOURS = "Opening hours. The museum opens at nine and closes at five."
REFUSAL = "The documents hold no answer."
TOLD = Instructions("GeneratedAnswer from the sources.", REFUSAL)


def a_turn(text: str, finish: Finish = "stop", held: bool = False) -> Turn:
    passages = (a_passage(1, RHINE, start=100, page=3), a_passage(2, HOURS, document_id="d2"))
    answer = GeneratedAnswer(text, finish=finish, held=held)
    return Turn(Ask("q"), "q", passages=passages, instructions=TOLD, answer=answer)


class Judge:
    """A chat model that says what it is told to, and keeps what it was asked."""

    name = "judge"

    def __init__(self, said: str = "", error: Exception | None = None) -> None:
        self.said, self.error = said, error
        self.asked: list[dict[str, Any]] = []

    async def complete(self, rules: str, text: str, max_tokens: int) -> Said:
        self.asked.append(json.loads(text))
        if self.error:
            raise self.error
        return Said(self.said, usage=Usage(10, 5, 1))


class Broken:
    async def support(self, *given: Any) -> Any:
        raise RuntimeError("broken")


async def test_given_what_was_computed_then_the_query_is_the_reason_and_the_rest_is_compared() -> (
    None
):
    figure = "The sum of Length over 2 rows of the table “bridges” is 640."
    known = Computed(figure, "SELECT SUM(x) FROM y", "bridges", "d", ("s",), (("640",),), 2, True)
    turn = a_turn(f"{figure} [1]\nThe bridge carries 90 trains a day. [1]")
    assert turn.answer is not None
    turn = replace(turn, answer=replace(turn.answer, computed=known))
    step, _ = await ran(Check(), turn, checker=local_checker())
    first, second = step.turn.verdicts
    assert (first.label, first.reason) == ("supported", "computed: SELECT SUM(x) FROM y")
    assert first.citation is not None
    assert first.citation.number == 1
    assert second.label != "supported"
    only_run = replace(turn.answer, computed=replace(known, recomputed=False))
    step, _ = await ran(Check(), replace(turn, answer=only_run), checker=local_checker())
    assert step.turn.verdicts[0].confidence < first.confidence


async def test_given_quotations_then_each_is_supported_by_its_exact_span() -> None:
    text = "The bridge over the Rhine was built in 1890. [1] Anything else?"
    step, events = await ran(Check(), a_turn(text), checker=local_checker())
    first, second = step.turn.verdicts
    assert (first.label, second.label) == ("supported", "no_claim")
    assert first.citation is not None
    assert (first.citation.number, first.citation.page) == (1, 3)
    assert (first.citation.start, first.citation.end) == (100, 144)
    assert first.citation.snippet == "The bridge over the Rhine was built in 1890."
    assert text[first.start : first.end].startswith(first.sentence)
    assert events == [Checked(step.turn.verdicts, 1.0)]
    assert step.turn.answer is not None
    assert step.turn.answer.is_grounded
    assert step.turn.answer.groundedness_score == 1.0


async def test_given_a_changed_quotation_then_it_is_contradicted() -> None:
    step, _ = await ran(
        Check(), a_turn("The bridge over the Rhine was built in 1891. [1]"), checker=local_checker()
    )
    [verdict] = step.turn.verdicts
    assert verdict.label == "contradicted"
    assert step.turn.answer is not None
    assert step.turn.answer.is_grounded is False


async def test_given_something_else_then_it_is_unsupported() -> None:
    text = "Bananas are yellow fruits that grow in Ecuador."
    step, _ = await ran(Check(), a_turn(text), checker=local_checker())
    assert step.turn.verdicts[0].label == "unsupported"
    assert step.decision.startswith("0 of 1 claims supported")


async def test_given_a_refusal_then_nothing_is_claimed() -> None:
    step, _ = await ran(Check(), a_turn("Nobody knows that.", "refused"), checker=local_checker())
    assert [verdict.label for verdict in step.turn.verdicts] == ["no_claim"]


UNSURE = "The Rhine has a bridge that visitors admire."


@pytest.mark.conforms("V5", "5. Hallucination Check", "Ambiguous: the model judges")
async def test_given_an_undecided_claim_then_the_chat_model_judges_it() -> None:
    judge = Judge('Sure! ```json\n{"1": "partly"}\n```')
    text = f"The bridge over the Rhine was built in 1890. {UNSURE}"
    step, _ = await ran(Check(), a_turn(text), checker=local_checker(), completer=judge)
    assert judge.asked[0]["claims"] == {"1": UNSURE}
    assert RHINE in judge.asked[0]["sources"].values()
    assert [verdict.label for verdict in step.turn.verdicts] == ["supported", "partly"]
    assert step.turn.verdicts[1].reason == "judge"
    assert step.turn.usage.calls == 1


@pytest.mark.parametrize(
    "judge",
    [
        Judge("I think so."),
        Judge(""),
        Judge('{"1": 7}'),
        Judge('{"7": "supported"}'),
        Judge("[1, 2"),
        Judge(error=ModelUnavailable("It is down.")),
    ],
)
async def test_given_nonsense_or_no_reply_then_the_local_verdict_stays(judge: Judge) -> None:
    local, _ = await ran(Check(), a_turn(UNSURE), checker=local_checker())
    step, _ = await ran(Check(), a_turn(UNSURE), checker=local_checker(), completer=judge)
    assert step.turn.verdicts == local.turn.verdicts
    assert len(judge.asked) == 1


@pytest.mark.conforms("V5", "5. Hallucination Check", "Clearly grounded or not: no model")
async def test_given_only_decided_claims_then_no_model_is_asked() -> None:
    judge = Judge('{"1": "unsupported"}')
    await ran(
        Check(), a_turn("It is 320 metres long. [1]"), checker=local_checker(), completer=judge
    )
    await ran(Check(asks_model=False), a_turn(UNSURE), checker=local_checker(), completer=judge)
    assert not judge.asked


def test_given_replies_then_the_last_that_judges_counts() -> None:
    assert parse_labels('{"1": "supported", "2": "Not_Supported"}', 2) == [
        ("supported", 0.9),
        ("unsupported", 0.9),
    ]
    assert parse_labels(
        'For example {"1": "partly"}. So: {"1": {"verdict": "contradicted"}}', 1
    ) == [("contradicted", 0.9)]
    assert parse_labels('{"1": null}', 2) == [None, None]


class Answerer:
    name = "model"

    async def answer(self, ask: Any, passages: Any, instructions: Any) -> Any:
        for piece in ("It is 320 ", "metres long."):
            yield Said(piece, thinking="hm")
        yield Said(finish="stop")


async def test_given_hold_then_no_token_leaves_before_the_verdicts() -> None:
    turn = a_turn("")
    step, events = await ran(Generate(holds=True), turn, answerer=Answerer())
    assert events == []
    assert step.turn.answer is not None
    assert step.turn.answer.held
    step, events = await ran(CheckHeld(), step.turn, checker=local_checker())
    assert [type(event) for event in events] == [Checked, Token]
    assert events[1] == Token("It is 320 metres long. [1]")
    assert step.turn.answer is not None
    assert not step.turn.answer.held


@pytest.mark.parametrize("checker", [Broken(), None])
async def test_given_hold_and_a_broken_check_then_nothing_is_sent(checker: Any) -> None:
    with pytest.raises(CheckUnavailable):
        await ran(CheckHeld(), a_turn("It is long.", held=True), checker=checker)


MIXED = (
    "It is 320 metres long. [1] Bananas are yellow fruits. Ecuador exports many bananas. "
    "The museum opens at nine and closes at five. [2]"
)


async def test_given_strict_then_unsupported_sentences_are_marked_gaps() -> None:
    stage = CheckHeld(strict=True)
    step, events = await ran(stage, a_turn(MIXED, held=True), checker=local_checker())
    text = "It is 320 metres long. [1] […] The museum opens at nine and closes at five. [2]"
    assert events[-1] == Token(text)
    assert isinstance(events[0], Note)
    assert step.turn.answer is not None
    assert step.turn.answer.groundedness_score == 1
    assert "Bananas" not in str(events) + str(step.turn.verdicts)
    last = step.turn.verdicts[-1]
    assert text[last.start : last.end].startswith(last.sentence)


async def test_given_strict_and_nothing_supported_then_it_refuses() -> None:
    stage = CheckHeld(strict=True)
    turn = a_turn("Bananas are yellow fruits.", held=True)
    step, events = await ran(stage, turn, checker=local_checker())
    assert step.turn.answer is not None
    assert (step.turn.answer.text, step.turn.answer.finish) == (REFUSAL, "refused")
    assert events[-1] == Token(REFUSAL)


async def test_given_strict_and_all_supported_then_nothing_is_taken_out() -> None:
    text = "It is 320 metres long. [1] Anything else?\n\n[2]"
    stage = CheckHeld(strict=True)
    _, events = await ran(stage, a_turn(text, held=True), checker=local_checker())
    assert [type(event) for event in events] == [Checked, Token]
    assert events[-1] == Token(text)


class Reads:
    """A checker that finds the claims it is told of, and remembers all."""

    def __init__(self, likely: float) -> None:
        self.likely = likely
        self.asked: list[Claim] = []

    async def support(
        self, claims: Sequence[Claim], sources: Sequence[EvidenceSource]
    ) -> list[Support]:
        self.asked.extend(claims)
        return [Support(self.likely, 0, 0, 44) for _ in claims]


@pytest.mark.parametrize(
    ("likely", "label"), [(0.95, "supported"), (0.05, "unsupported"), (0.5, "no_claim")]
)
async def test_a_yes_at_the_beginning_claims_what_was_asked(likely: float, label: str) -> None:
    turn = a_turn("Yes. The bridge over the Rhine was built in 1890. [1]")
    turn = replace(turn, question="Was the bridge built in 1890?")
    checker = Reads(likely)
    step, _ = await ran(Check(), turn, checker=checker)
    assert step.turn.verdicts[0].label == label
    assert checker.asked[0] == Claim("Was the bridge built in 1890? Yes.", (0,))


async def test_a_yes_to_another_kind_of_question_claims_nothing() -> None:
    turn = replace(a_turn("Yes. It was built in 1890. [1]"), question="When was it built?")
    step, _ = await ran(Check(), turn, checker=Reads(0.05))
    assert step.turn.verdicts[0].label == "no_claim"


async def test_a_yes_that_is_unsure_is_judged_with_its_question() -> None:
    turn = replace(a_turn("Yes."), question="Was the bridge built in 1890?")
    judge = Judge('{"1": "supported"}')
    await ran(Check(), turn, checker=Reads(0.5), completer=judge)
    assert "Was the bridge built in 1890? Yes." in json.dumps(judge.asked)


class Contradicts:
    """A checker for which the sources contradict all but their own sentences."""

    async def support(
        self, claims: Sequence[Claim], sources: Sequence[EvidenceSource]
    ) -> list[Support]:
        found = []
        for claim in claims:
            quoted = any(claim.text in source.text for source in sources)
            best = Support(0.99, 0, 0, 44) if quoted else Support(0.02, 0, 0, 44, 0.95)
            found.append(replace(best, cited=tuple(best for _ in claim.cited)))
        return found


class Extractive:
    """An answerer of the documents' own sentences."""

    name = "extractive"

    def __init__(self, likely: float = 0.9) -> None:
        self.likely = likely

    async def answer(self, ask: Any, passages: Any, instructions: Any) -> Any:
        yield Said("The bridge over the Rhine was built in 1890. [1]")
        yield Said(finish="stop", confidence=self.likely)

    async def likelihood(self, ask: Any, passages: Any) -> float:
        return self.likely

    async def ready(self) -> None: ...

    async def aclose(self) -> None: ...


WRONG_YEAR = "It was built in 1950 [1]."


async def test_where_the_model_contradicts_the_sources_their_own_sentences_answer() -> None:
    turn = a_turn(WRONG_YEAR, held=True)
    judge = Judge('{"1": "supported"}')

    step, events = await ran(
        CheckHeld(),
        turn,
        checker=Contradicts(),
        answerable=Extractive(),
        chat=object(),
        completer=judge,
    )

    answer = step.turn.answer
    assert answer is not None
    assert answer.text == "The bridge over the Rhine was built in 1890. [1]"
    assert (answer.note, answer.model) == (NOTE, "extractive")
    assert answer.is_grounded
    assert events[-1] == Token(answer.text)
    assert "quoted the documents" in step.decision
    assert "contradicts source 1 (0.98)" in step.reason
    assert not judge.asked


async def test_behind_an_answer_that_is_sent_they_follow_and_are_marked() -> None:
    step, events = await ran(
        Check(), a_turn(WRONG_YEAR), checker=Contradicts(), answerable=Extractive()
    )

    answer = step.turn.answer
    assert answer is not None
    sent = "".join(event.text for event in events if isinstance(event, Token))
    assert WRONG_YEAR + sent == answer.text
    assert OTHERWISE in sent
    assert any(isinstance(event, Note) and event.text == NOTE for event in events)
    assert not answer.is_grounded


@pytest.mark.parametrize(
    ("text", "likely", "quotes"),
    [
        (WRONG_YEAR, 0.6, True),
        (WRONG_YEAR, 0.9, False),
        (f"{WRONG_YEAR} The bridge over the Rhine was built in 1890.", 0.9, True),
    ],
    ids=["unsure-sentences", "switched-off", "partly-right"],
)
async def test_otherwise_the_answer_of_the_model_stays(
    text: str, likely: float, quotes: bool
) -> None:
    stage = Check(quotes=quotes)

    step, _ = await ran(stage, a_turn(text), checker=Contradicts(), answerable=Extractive(likely))

    assert step.turn.answer is not None
    assert (step.turn.answer.text, step.turn.answer.note) == (text, "")


async def test_the_trace_says_why_the_answer_of_the_model_stays() -> None:
    step, _ = await ran(
        Check(), a_turn(WRONG_YEAR), checker=Contradicts(), answerable=Extractive(0.6)
    )

    assert "own sentences answer with 0.60, too little" in step.reason


@pytest.mark.parametrize(
    ("likely", "said", "text"),
    [
        (0.1, '{"1": "unsupported"}', REFUSAL),
        (0.7, '{"1": "unsupported"}', "It is somehow so."),
        (0.3, "", "It is somehow so."),
        (0.02, "", REFUSAL),
        (0.1, '{"1": "supported"}', "It is somehow so."),
    ],
    ids=["both-reject", "only-the-model", "an-unsure-reader", "a-sure-reader", "only-the-reader"],
)
async def test_strict_removes_what_both_or_a_sure_reader_reject(
    likely: float, said: str, text: str
) -> None:
    turn = a_turn("It is somehow so.", held=True)

    step, _ = await ran(CheckHeld(strict=True), turn, checker=Reads(likely), completer=Judge(said))

    assert step.turn.answer is not None
    assert step.turn.answer.text == text


async def test_the_chat_model_judges_with_question_and_neighbours() -> None:
    turn = replace(a_turn(f"The bridge is old. {UNSURE}"), question="What is there?")
    judge = Judge('{"1": "supported"}')

    await ran(Check(), turn, checker=Reads(0.5), completer=judge)

    assert judge.asked[0]["question"] == "What is there?"
    assert judge.asked[0]["answer"] == f"The bridge is old. {UNSURE}"
