"""Evaluation on one's own documents: a set is asked in the background, as whoever began it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from ragstone import build
from ragstone.access.asking import ASKING
from ragstone.access.interceptor import Interceptor
from ragstone.access.setup import make_interceptor
from ragstone.core.caller import Caller
from ragstone.core.errors import (
    InputError,
    Unauthorized,
    UnknownCollection,
    UnknownQuestionSet,
    UnknownRun,
)
from ragstone.core.turn import Ask, Principal, SearchOptions
from ragstone.local import Ragstone
from ragstone.plugins.evaluation.contract import AskSetting, EvaluationRun, SetQuestion
from ragstone.service import Handed, IngestRequest
from ragstone.settings import Settings

EVA = Principal("default", "eva", ("staff",))
BOB = Principal("default", "bob")
HEIGHT = SetQuestion("How high is the lighthouse of Ost?", ("41 metres",), ("ost.md",))
BUILT = SetQuestion("When was the lighthouse of Ost built?", ("1999",))
KING = SetQuestion("Who was the first king of Norway?", answerable=False)
SECRET = SetQuestion("What is the code of the vault?", ("7361",))
QUESTIONS = (HEIGHT, BUILT, KING)
WORDS = AskSetting("words alone", strategy="bm25", wanted=SearchOptions(rerank=False))


class World:
    """A service with a document for all and one for the staff, and what stands round it."""

    def __init__(self, service: Ragstone, around: Interceptor) -> None:
        self.service = service
        self.around = around
        self.evaluation = service.evaluation

    async def done(self, run: EvaluationRun, whose: Principal = EVA) -> EvaluationRun:
        async for _ in self.service.jobs.watch(whose, run.id):
            pass
        return await self.evaluation.run(whose, run.id)

    async def evaluated(
        self, *settings: AskSetting, questions: tuple[SetQuestion, ...] = QUESTIONS
    ) -> EvaluationRun:
        kept = await self.evaluation.put_set(EVA, "default", "Ost", questions)
        return await self.done(await self.evaluation.start(EVA, kept.id, settings))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    (tmp_path / "ost.md").write_text(
        "# Ost\n\nThe lighthouse of Ost is 41 metres high. It was built in 1871 by Ada Berg.\n"
    )
    (tmp_path / "vault.md").write_text("# Vault\n\nThe code of the vault is 7361.\n")
    settings = Settings(ragstone_data=tmp_path / "data")
    around = make_interceptor(settings)
    async with build.open(settings, interceptor=around) as service:
        for name, allowed in (("ost", ("*",)), ("vault", ("group:staff",))):
            handed = Handed(
                str(tmp_path / f"{name}.md"), f"/{name}.md", f"upload:{name}", allowed=allowed
            )
            async for step in service.ingest(IngestRequest(handed=(handed,))):
                assert not step.failed
        yield World(service, around)


def as_key(whose: Principal, collections: tuple[str, ...] | None = None) -> None:
    ASKING.set(Caller(whose, "editor", collections, f"key:{whose.user}"))


async def test_a_set_is_asked_with_each_setting_and_what_is_wrong_is_known(world: World) -> None:
    run = await world.evaluated(AskSetting("planned"), WORDS)
    assert (run.state, run.asked, run.total) == ("done", 6, 6)
    assert [figure.setting for figure in run.figures] == ["planned", "words alone"]
    for figures in run.figures:
        assert figures.measures["right"] == pytest.approx(2 / 3)
        assert figures.measures["source_cited"] == 1
        assert figures.measures["answered_unanswerable"] == 0
    wrong = await world.evaluation.outcomes(EVA, run.id, which="wrong")
    assert {(item.number, item.setting, item.reason) for item in wrong} == {
        (1, 0, "other_answer"),
        (1, 1, "other_answer"),
    }
    assert "1871" in wrong[0].text
    assert [item.path for item in wrong[0].found if item.cited] == ["/ost.md"]
    assert {"retrieve", "generate"} <= {item.stage for item in wrong[0].trace}
    [one] = await world.evaluation.outcomes(EVA, run.id, setting=1, limit=1, offset=1)
    assert (one.strategy, one.number) == ("bm25", 1)


async def test_nothing_of_it_is_kept_as_a_question_of_the_user(world: World) -> None:
    run = await world.evaluated()
    assert run.settings[0].name == "standard"
    assert await world.service.statistics.traces("default", 10) == []
    assert (await world.service.cache_figures()).entries == 0
    assert "ragstone_questions_total" in world.around.metrics.render().decode()


async def test_a_run_is_compared_with_an_earlier_one(world: World) -> None:
    first = await world.evaluated()
    second = await world.evaluated(questions=(HEIGHT, replace(BUILT, answers=("1871",)), KING))
    [changed] = await world.evaluation.changes(EVA, second.id, first.id)
    assert (changed.question, changed.before, changed.after) == (BUILT.question, False, True)
    assert [run.id for run in await world.evaluation.runs(EVA)] == [second.id, first.id]
    page = await world.evaluation.report(EVA, second.id, first.id)
    assert "wrong → right" in page
    assert "None of the judged answers is wrong." in page
    earlier = await world.evaluation.report(EVA, first.id)
    assert "1871" in earlier, "the wrong answer stands in the report"


async def test_who_asks_sees_what_it_may_read_and_another_user_nothing(world: World) -> None:
    as_key(EVA)
    run = await world.evaluated(questions=(SECRET,))
    assert run.figures[0].measures["right"] == 1
    as_key(BOB)
    kept = await world.evaluation.put_set(BOB, "default", "Ost", (SECRET,))
    own = await world.done(await world.evaluation.start(BOB, kept.id, ()), BOB)
    assert own.figures[0].measures["right"] == 0
    [outcome] = await world.evaluation.outcomes(BOB, own.id)
    assert "7361" not in f"{outcome.text} {outcome.found}"
    for refused in (
        world.evaluation.run(BOB, run.id),
        world.evaluation.outcomes(BOB, run.id),
        world.evaluation.report(BOB, run.id),
        world.evaluation.remove_run(BOB, run.id),
        world.evaluation.changes(BOB, own.id, run.id),
    ):
        with pytest.raises(UnknownRun):
            await refused
    with pytest.raises(UnknownQuestionSet):
        await world.evaluation.question_set(BOB, run.set_id)
    assert [item.id for item in await world.evaluation.runs(BOB)] == [own.id]


async def test_what_may_no_longer_be_read_is_no_longer_shown(world: World) -> None:
    as_key(EVA)
    run = await world.evaluated(questions=(SECRET, KING))
    assert len(await world.evaluation.outcomes(EVA, run.id)) == 2
    outside = replace(EVA, groups=())
    as_key(outside)
    found = await world.evaluation.outcomes(outside, run.id)
    assert "7361" not in str(found)
    assert "7361" not in await world.evaluation.report(outside, run.id)


async def test_a_credential_of_other_collections_does_not_see_the_set(world: World) -> None:
    run = await world.evaluated()
    elsewhere = replace(EVA, collections=("other",))
    as_key(elsewhere, ("other",))
    assert await world.evaluation.sets(elsewhere) == []
    assert await world.evaluation.runs(elsewhere) == []
    with pytest.raises(UnknownRun):
        await world.evaluation.run(elsewhere, run.id)
    with pytest.raises(UnknownQuestionSet):
        await world.evaluation.start(elsewhere, run.set_id, ())
    here = replace(EVA, collections=("default",))
    as_key(here, ("default",))
    again = await world.done(await world.evaluation.start(here, run.set_id, ()), here)
    assert again.state == "done"


async def test_who_has_no_credential_has_no_sets(world: World) -> None:
    ASKING.set(Caller(Principal(user=""), "reader", key="anonymous"))
    with pytest.raises(Unauthorized):
        await world.evaluation.sets(Principal(user=""))


async def test_feedback_becomes_questions(world: World) -> None:
    give = world.service.feedback.give
    for answer, question, thumb, said, comment in (
        ("a1", "How high?", "up", "It is 41 metres high.", "yes"),
        ("a2", "How  high?", "down", "It is 42 feet high.", "no, metres"),
        ("a3", "Other?", "up", "Elsewhere.", ""),
    ):
        where = "other" if question == "Other?" else "default"
        await give(
            EVA,
            answer,
            thumb,
            question=question,
            answer=said,
            collection=where,
            comment=comment,  # type: ignore[arg-type]
        )
    [found] = await world.evaluation.from_feedback(Principal(), "default")
    assert found.question == "How high?"
    assert (found.liked, found.disliked) == ("It is 41 metres high.", "It is 42 feet high.")
    assert set(found.comment.splitlines()) == {"yes", "no, metres"}
    judged = await world.evaluated(questions=(replace(found, question=HEIGHT.question),))
    assert judged.figures[0].measures["right"] == 1


async def test_a_run_that_is_stopped_goes_on_where_it_was(world: World) -> None:
    kept = await world.evaluation.put_set(EVA, "default", "Ost", QUESTIONS)
    run = await world.evaluation.start(EVA, kept.id, [WORDS, AskSetting("b"), AskSetting("c")])
    for _ in range(500):
        if (await world.evaluation.run(EVA, run.id)).asked:
            break
        await asyncio.sleep(0.02)
    await world.service.jobs.cancel(EVA, run.id)
    stopped = await world.evaluation.run(EVA, run.id)
    assert stopped.state == "cancelled"
    assert 0 < stopped.asked < stopped.total
    first = await world.evaluation.outcomes(EVA, run.id, limit=1)
    await world.service.jobs.retry(EVA, run.id)
    done = await world.done(run)
    assert (done.state, done.asked) == ("done", 9)
    assert await world.evaluation.outcomes(EVA, run.id, limit=1) == first


async def test_a_run_is_removed_with_all_that_came_of_it(world: World) -> None:
    run = await world.evaluated()
    await world.evaluation.remove_run(EVA, run.id)
    assert await world.evaluation.runs(EVA) == []
    assert await world.service.evaluation._store.outcomes(run.id) == []
    assert len(await world.evaluation.sets(EVA)) == 1
    await world.service.conversations.forget(EVA)
    assert await world.evaluation.sets(EVA) == []


async def test_what_makes_no_run_is_refused(world: World) -> None:
    put, start = world.evaluation.put_set, world.evaluation.start
    with pytest.raises(UnknownCollection):
        await put(EVA, "nowhere", "a", QUESTIONS)
    with pytest.raises(InputError, match="no question"):
        await put(EVA, "default", "a", ())
    with pytest.raises(InputError, match="name of a set"):
        await put(EVA, "default", " \n", QUESTIONS)
    kept = await put(EVA, "default", "a", QUESTIONS)
    with pytest.raises(InputError, match="name of its own"):
        await start(EVA, kept.id, [AskSetting(), AskSetting()])
    with pytest.raises(InputError, match="at most 8"):
        await start(EVA, kept.id, [AskSetting(str(number)) for number in range(9)])
    with pytest.raises(UnknownQuestionSet):
        await start(EVA, "nothing", ())
    assert await world.evaluation.runs(EVA) == []


async def test_a_question_that_fails_is_wrong_and_the_others_are_asked(world: World) -> None:
    run = await world.evaluated(AskSetting("b", top_k=-1), AskSetting("c"))
    assert run.state == "done"
    assert run.asked == 6


async def test_it_is_asked_of_the_collection_whatever_it_is_called_now(world: World) -> None:
    kept = await world.evaluation.put_set(EVA, "default", "Ost", QUESTIONS)
    await world.service.rename_collection(Principal(), "default", "lights")
    run = await world.done(await world.evaluation.start(EVA, kept.id, ()))
    assert (run.collection, run.state) == ("lights", "done")
    assert run.figures[0].measures["right"] == pytest.approx(2 / 3)
    [listed] = await world.evaluation.sets(EVA)
    assert listed.collection == "lights"
    turn = await world.service.search(Ask("lighthouse", collection="lights"))
    assert turn.hits
