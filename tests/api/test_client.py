"""The asynchronous client on a data directory of its own."""

import asyncio
import subprocess
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ragstone
from ragstone import errors, filters
from ragstone.core.turn import Message, SearchOptions
from tests.documents import DOCUMENTS
from tests.in_turn import in_turn
from tests.model_server import model_server
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

REVENUE = "What was the revenue in 2024?"
BATTERY = "How long does a full battery charge last without sun?"


async def test_a_whole_answer_and_a_streamed_one_are_the_same(data: Path) -> None:
    async with ragstone.AsyncClient(data) as rag:
        whole = await rag.ask(REVENUE, cache=False)
        events = [event async for event in rag.stream(REVENUE, cache=False)]
    streamed = events[-1]
    assert isinstance(streamed, ragstone.Answer)
    assert "48.6 million" in whole.text
    assert untimed(streamed) == untimed(whole)
    assert "".join(e.text for e in events if isinstance(e, ragstone.Token)) == whole.text
    [sources] = [event.sources for event in events if isinstance(event, ragstone.Sources)]
    assert [source.chunk_id for source in sources] == [source.chunk_id for source in whole.sources]
    [checked] = [event for event in events if isinstance(event, ragstone.Checked)]
    assert checked.verdicts == whole.verdicts


async def test_an_answer_says_where_it_comes_from(data: Path) -> None:
    async with ragstone.AsyncClient(data) as rag:
        answer = await rag.ask(REVENUE)
    assert str(answer) == answer.text
    assert not answer.refused
    assert answer.grounded is True
    assert answer.supported == ragstone.Statement(True, 0.99)
    assert answer.answers
    assert answer.answers.level == "high"
    assert answer.confidence == pytest.approx(0.99 * answer.answers.confidence, abs=0.001)
    assert answer.cost is None
    [source] = answer.cited
    assert source.path == "/documents/annual-report-2024.pdf"
    assert source.page == 2
    assert "48.6 million" in source.snippet
    assert all(verdict.label == "supported" for verdict in answer.verdicts)
    assert answer.seconds == sum(item.seconds for item in answer.trace if not item.inside)


async def test_what_the_documents_do_not_hold_is_refused(data: Path) -> None:
    async with ragstone.AsyncClient(data) as rag:
        answer = await rag.ask("Who won the chess world championship in 1972?")
    assert answer.refused
    assert answer.cited == ()


async def test_a_search_finds_passages_in_folders_and_by_metadata(data: Path) -> None:
    async with ragstone.AsyncClient(data) as rag:
        found = await rag.search("battery", top_k=3)
        below = await rag.search("battery", under="/documents/annual-report-2024.pdf")
        several = await rag.search("battery", under=["/nowhere", "/documents/travel-policy.html"])
        by_name = await rag.search("battery", where={"author": "Northmoor Instruments"})
        one_of = await rag.search("battery", where={"author": ["nobody", "Northmoor Instruments"]})
        by_field = await rag.search("battery", where=filters.eq("media_type", "text/markdown"))
        both = await rag.search("battery", under="/documents", where={"author": "nobody"})
    assert len(found) == 3
    assert found[0].path == "/documents/lantern-3-manual.md"
    assert "24 ampere-hours" in found[0].text
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    assert paths(below) == paths(by_name) == paths(one_of) == {"/documents/annual-report-2024.pdf"}
    assert paths(several) == {"/documents/travel-policy.html"}
    assert paths(by_field) == {"/documents/lantern-3-manual.md"}
    assert both == []


async def test_an_ingest_tells_how_far_it_is(tmp_path: Path) -> None:
    async with ragstone.AsyncClient(tmp_path / "data") as rag:
        steps = [step async for step in rag.ingest_steps(DOCUMENTS, collection="mine")]
        again = await rag.ingest(DOCUMENTS, collection="mine")
        listed = await rag.collections.list()
    shares = [step.share for step in steps if step.phase == "reading" and step.share is not None]
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    assert [step.finished for step in steps].index(True) == len(steps) - steps.count(steps[-1])
    assert (steps[-1].share, steps[-1].indexed, steps[-1].failed) == (1.0, 5, ())
    assert (again.indexed, again.unchanged) == (0, 5)
    assert [(item.name, item.documents) for item in listed] == [("mine", 5)]


async def test_an_ingest_goes_on_when_its_loop_is_left(tmp_path: Path) -> None:
    async with ragstone.AsyncClient(tmp_path / "data") as rag:
        async with aclosing(rag.ingest_steps(DOCUMENTS)) as steps:
            step = await anext(steps)
        ended = await rag.jobs.wait(step.job)
        assert (ended.state, ended.result and ended.result["indexed"]) == ("done", 5)


async def test_a_file_that_cannot_be_read_is_told_and_the_others_are_indexed(
    tmp_path: Path,
) -> None:
    (tmp_path / "good.txt").write_text("The lease ends on 31 March 2027.")
    (tmp_path / "bad.pdf").write_text("no PDF")
    async with ragstone.AsyncClient(tmp_path / "data") as rag:
        progress = await rag.ingest(tmp_path / "good.txt", tmp_path / "bad.pdf")
        answer = await rag.ask("When does the lease end?")
    assert progress.indexed == 1
    assert [Path(failure.path).name for failure in progress.failed] == ["bad.pdf"]
    assert "31 March 2027" in answer.text


async def test_leaving_the_loop_cancels_the_question(data: Path) -> None:
    with model_server(way="slow drip") as server:
        async with ragstone.AsyncClient(data, settings={"llm.base_url": server.url}) as rag:
            async with aclosing(rag.stream(REVENUE, conversation="cut")) as events:
                async for event in events:
                    if isinstance(event, ragstone.Token):
                        break
            [kept] = await rag.conversations.read("cut")
    assert (kept.block.status, len(server.calls)) == ("idle", 1)
    assert kept.answer.startswith(event.text.strip())


async def test_a_conversation_is_kept_as_soon_as_it_is_answered(data: Path) -> None:
    async with ragstone.AsyncClient(data) as rag:
        answer = await rag.ask(BATTERY, conversation="manual")
        follow_up = await rag.ask("And at minus 20 degrees?", conversation="manual")
        entries = await rag.conversations.read("manual")
        title = await rag.conversations.rename("manual", "The battery")
        [room] = await rag.conversations.list()
        exported = await rag.conversations.export("manual", "markdown")
        await rag.conversations.delete("manual")
        assert await rag.conversations.list() == []
    assert "19 days" in follow_up.text
    assert [(entry.question, entry.answer) for entry in entries[::-1]] == [
        (BATTERY, answer.text),
        ("And at minus 20 degrees?", follow_up.text),
    ]
    assert (room.room, room.title, room.turns) == ("manual", title, 2)
    assert BATTERY in exported


async def test_earlier_messages_can_come_from_the_program(data: Path) -> None:
    history = [{"role": "user", "content": BATTERY}, {"role": "assistant", "content": "31 days."}]
    async with ragstone.AsyncClient(data) as rag:
        answer = await rag.ask("And at minus 20 degrees?", history=history)
    assert "19 days" in answer.text


async def test_documents_are_listed_read_and_deleted(data: Path) -> None:
    async with ragstone.AsyncClient(data) as rag:
        listed = await rag.documents.list()
        assert len(listed) == 5
        assert await rag.documents.list(limit=2, offset=1) == listed[1:3]
        manual = await rag.documents.get("documents/lantern-3-manual.md")
        assert await rag.documents.get(manual.id) == manual
        text = await rag.documents.read(manual.path)
        part = await rag.documents.read(manual.id, offset=5, limit=10)
        assert "31 days without sun" in text.text
        assert (part.text, part.total) == (text.text[5:15], len(text.text))
        assert await rag.documents.delete(manual.path) == 1
        with pytest.raises(errors.UnknownDocument):
            await rag.documents.get(manual.path)
        assert await rag.documents.delete("/documents") == 4


async def test_collections_are_rebuilt_renamed_and_deleted(data: Path) -> None:
    async with ragstone.AsyncClient(data) as rag:
        one = await rag.collections.get("default")
        assert (one.name, one.documents, one.pending) == ("default", 5, 0)
        rebuilt = await rag.collections.rebuild("default")
        assert rebuilt.finished
        renamed = await rag.collections.rename("default", "reports")
        assert (renamed.name, renamed.documents) == ("reports", 5)
        assert "48.6 million" in (await rag.ask(REVENUE, collection="reports")).text
        await rag.documents.put("/note.md", "A note.", collection="other")
        with pytest.raises(errors.Conflict):
            await rag.collections.rename("other", "reports")
        with pytest.raises(errors.UnknownCollection):
            await rag.collections.rename("default", "other")
        assert await rag.collections.delete("reports") == 5
        with pytest.raises(errors.UnknownCollection):
            await rag.collections.get("default")
        with pytest.raises(errors.UnknownCollection):
            await rag.collections.rebuild("default")


async def test_a_question_can_be_a_job(data: Path) -> None:
    async with ragstone.AsyncClient(data) as rag:
        job = await rag.jobs.ask(REVENUE)
        ended = await rag.jobs.wait(job.id)
        assert ended.result is not None
        assert "48.6 million" in ended.result["answer"]
        assert await rag.jobs.get(job.id) == ended
        assert job.id in {item.id for item in await rag.jobs.list(kind="ask", state="done")}
        with pytest.raises(errors.JobEnded):
            await rag.jobs.cancel(job.id)
        with pytest.raises(errors.UnknownJob):
            await rag.jobs.get("nothing")
        with pytest.raises(errors.UnknownJob):
            await rag.jobs.wait("nothing")


async def test_another_user_finds_only_what_he_may_read(tmp_path: Path) -> None:
    (tmp_path / "salaries.txt").write_text("The director earns 9,000 euros a month.")
    async with ragstone.AsyncClient(tmp_path / "data") as rag:
        await rag.ingest(tmp_path / "salaries.txt", allowed=["group:staff"])
        staff = rag.as_user("eva", groups=["staff"])
        assert "9,000" in (await staff.ask("What does the director earn?")).text
        for other in (rag, rag.as_user("bob", groups=["guests"])):
            assert (await other.ask("What does the director earn?")).refused
            assert await other.documents.list() == []
        await staff.ask("What does the director earn?", conversation="pay")
        assert await rag.conversations.list() == []
        with pytest.raises(errors.InputError, match="need a name"):
            rag.as_user(" ")


async def test_documents_keep_their_readers_until_others_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "salaries.txt").write_text("The director earns 9,000 euros a month.")
    async with ragstone.AsyncClient(tmp_path / "data") as rag:

        async def readable() -> list[str]:
            bob = rag.as_user("bob", groups=["guests"])
            return sorted(item.path for item in await bob.documents.list())

        await rag.ingest(folder, allowed=["group:staff"])
        assert await readable() == []
        (folder / "salaries.txt").write_text("The director earns 10,000 euros a month.")
        (folder / "menu.txt").write_text("On Monday there is soup.")
        await rag.ingest(folder)
        assert await readable() == ["/papers/menu.txt"]
        await rag.ingest(folder, allowed=["group:guests"])
        assert await readable() == ["/papers/menu.txt", "/papers/salaries.txt"]
        await rag.documents.put("/notes/plan.md", "Ost is closed.", allowed=["group:staff"])
        await rag.documents.put("/notes/plan.md", "Ost is closed in May.")
        assert "/notes/plan.md" not in await readable()
        await rag.documents.put("/notes/plan.md", "Ost is closed in June.", allowed=["*"])
        assert "/notes/plan.md" in await readable()


async def test_settings_are_those_that_are_given(data: Path) -> None:
    async with ragstone.AsyncClient(data, settings={"rag.top_k": 2}) as rag:
        assert len((await rag.ask(REVENUE)).sources) == 2
        assert len((await rag.ask(REVENUE, top_k=1, cache=False)).sources) == 1


async def test_status(data: Path) -> None:
    async with ragstone.AsyncClient(data) as rag:
        status = await rag.status()
    assert (status.version, status.server) == (ragstone.__version__, None)
    assert (status.collections, status.documents) == (1, 5)


async def test_a_client_that_is_closed_says_so(data: Path) -> None:
    rag = ragstone.AsyncClient(data)
    assert len(await rag.documents.list()) == 5
    await rag.aclose()
    await rag.aclose()
    for work in (rag.ask(REVENUE), rag.collections.list(), rag.as_user("eva").status()):
        with pytest.raises(errors.ClientClosed, match="The client is closed"):
            await work
    async with ragstone.AsyncClient(data) as other:
        assert len(await other.documents.list()) == 5


async def test_many_questions_open_the_data_directory_once(data: Path) -> None:
    rag = ragstone.AsyncClient(data)
    answers = await asyncio.gather(*(rag.ask(REVENUE) for _ in range(8)))
    await rag.aclose()
    assert len({answer.text for answer in answers}) == 1


async def test_a_data_directory_is_opened_once_in_a_program(data: Path) -> None:
    async with ragstone.AsyncClient(data):
        with pytest.raises(errors.DataDirectoryInUse, match="open in this program already"):
            await ragstone.AsyncClient(data).status()


@in_turn(
    ("question", "params", "kind", "said"),
    [
        ("", {}, errors.EmptyQuestion, "The question is empty"),
        (" \n", {}, errors.EmptyQuestion, "The question is empty"),
        ("x" * 20_001, {}, errors.QuestionTooLong, "20,001 characters"),
        (None, {}, errors.InputError, "must be a text, not NoneType"),
        ("half \ud800", {}, errors.InputError, "half a character"),
        ("q", {"collection": "nowhere"}, errors.UnknownCollection, "'nowhere'"),
        ("q", {"top_k": 0}, errors.InputError, "top_k is wrong"),
        ("q", {"top_k": "3"}, errors.InputError, "top_k is wrong"),
        ("q", {"level": "most"}, errors.InputError, "level is wrong: it must be 'basic'"),
        ("q", {"stop": "end"}, errors.InputError, "stop is wrong"),
        ("q", {"where": "year"}, errors.InputError, "where is a mapping"),
        ("q", {"where": {"year": None}}, errors.InputError, "not None"),
        ("q", {"where": filters.eq("colour", "red")}, errors.InvalidFilter, "no field 'colour'"),
        ("q", {"conversation": ""}, errors.InvalidRoom, "empty"),
        ("q", {"history": [{"role": "user"}]}, errors.InputError, "A message of history"),
        ("q", {"topk": 3}, TypeError, "There is no parameter 'topk'. Do you mean 'top_k'?"),
    ],
)
async def test_what_cannot_be_asked_is_told_in_one_line(
    opened: ragstone.AsyncClient, question: Any, params: Any, kind: type[Exception], said: str
) -> None:
    for work in (opened.ask(question, **params), everything(opened.stream(question, **params))):
        with pytest.raises(kind) as caught:
            await work
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)


async def test_what_cannot_be_ingested_is_told_in_one_line(opened: ragstone.AsyncClient) -> None:
    with pytest.raises(errors.UnreadableDocument, match=r"nowhere/at/all does not exist\."):
        await opened.ingest("nowhere/at/all")
    with pytest.raises(errors.InputError, match="at least one file or folder"):
        await opened.ingest()


@in_turn(
    ("given", "said"),
    [
        ({"path": "/"}, "A document has a path with an ending"),
        ({"path": "/a\x00.md"}, "without control characters"),
        ({"path": "/\ud800.md"}, "without control characters"),
        ({"path": 5}, "A document has a path"),
        ({"title": None}, "and a title"),
        ({"content": 5}, "A content is a text or bytes, not int"),
        ({"collection": ""}, "use 1 to 255 characters"),
        ({"collection": "a\nb"}, "what cannot be shown"),
        ({"collection": 5}, "is a text, not int"),
        ({"allowed": "user:eva"}, "Not a valid list of readers"),
        ({"allowed": ["eva"]}, "Not a valid reader: 'eva'"),
        ({"allowed": 5}, "Not a valid list of readers: '5'"),
        ({"metadata": {"when": object()}}, "metadata is a mapping of values that JSON has"),
        ({"metadata": {"half": "\ud800"}}, "metadata is a mapping of values that JSON has"),
        ({"metadata": [1]}, "metadata is a mapping"),
    ],
)
async def test_what_cannot_be_put_is_told_in_one_line(
    opened: ragstone.AsyncClient, given: Any, said: str
) -> None:
    whole: Any = {"path": "/a.md", "content": "A note.", **given}
    with pytest.raises(errors.InputError) as caught:
        await opened.documents.put(whole.pop("path"), whole.pop("content"), **whole)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_what_does_not_exist_is_told_in_one_line(opened: ragstone.AsyncClient) -> None:
    with pytest.raises(errors.UnknownCollection):
        await opened.documents.list("nowhere")
    with pytest.raises(errors.UnknownDocument):
        await opened.documents.read("/nowhere.txt")
    with pytest.raises(errors.UnknownDocument):
        await opened.documents.delete("/nowhere.txt")
    with pytest.raises(errors.UnknownRoom):
        await opened.conversations.read("nothing")
    with pytest.raises(errors.InputError, match="neither can be negative"):
        await opened.documents.list(offset=-1)


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({"settings": {"rag.topk": 5}}, errors.UnknownSetting, "Do you mean 'rag.top_k'?"),
        ({"settings": {"config": 5}}, errors.UnknownSetting, "There is no setting 'config'"),
        ({"settings": {"rag.top_k": "x"}}, errors.ConfigError, "RAG__TOP_K is wrong (settings of"),
        ({"config": "nowhere.yaml"}, errors.ConfigError, "nowhere.yaml cannot be read"),
        ({"key": "rs-key"}, errors.ConfigError, "A key is for a server"),
    ],
)
def test_a_client_that_cannot_be_is_told_at_once(
    tmp_path: Path, given: Any, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind) as caught:
        ragstone.AsyncClient(tmp_path, **given)
    assert said in str(caught.value)


def test_parameters_reach_the_question() -> None:
    from ragstone.api.params import AskParams, to_ask
    from ragstone.core.turn import Principal

    ask = to_ask(
        "q",
        Principal(user="eva"),
        {
            "level": "maximum",
            "dense_weight": 0.5,
            "rerank": False,
            "conversation": "room",
            "history": [{"role": "user", "content": "before"}],
            "stop": ["end"],
            "max_tokens": 10,
        },
        AskParams,
    )
    assert ask.wanted == SearchOptions(dense_weight=0.5, rerank=False)
    assert ask.history == (Message("user", "before"),)
    assert (ask.room, ask.stop, ask.max_tokens, ask.level) == ("room", ("end",), 10, "maximum")
    assert ask.where is None


def test_nothing_is_printed_but_by_the_program(data: Path) -> None:
    code = (
        "import ragstone\n"
        f"with ragstone.Client({str(data)!r}) as rag:\n"
        f"    rag.ingest({str(DOCUMENTS)!r})\n"
        f"    print(rag.ask({REVENUE!r}).finish)\n"
        f"rag = ragstone.Client({str(data)!r})\n"
        f"rag.ask({REVENUE!r}, conversation='kept')\n"
        f"steps = rag.stream({REVENUE!r})\n"
        "next(steps)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "stop\n", "")
    with ragstone.Client(data) as rag:
        assert len(rag.conversations.read("kept")) == 1


def untimed(answer: ragstone.Answer) -> ragstone.Answer:
    trace = tuple(replace(item, seconds=0.0) for item in answer.trace)
    return replace(answer, trace=trace, seconds=0.0)


def paths(found: list[ragstone.Source]) -> set[str]:
    return {item.path for item in found}


async def everything(items: Any) -> list[Any]:
    return [item async for item in items]
