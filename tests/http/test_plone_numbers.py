"""The numbers of Plone's document, as they are seen through its services."""

import asyncio
import itertools
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.http.app import create_app
from ragstone.language.language import ENGLISH, no_answer
from ragstone.local import Ragstone
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.settings import StatisticsSettings, load
from tests.conformance.elasticsearch_server import ElasticsearchServer
from tests.credentials import a_key, bearer
from tests.http.test_plone import SECRET, signed
from tests.model_server import ModelServer, model_server
from tests.patience import PATIENCE
from tests.plone_server import TOKEN, PloneServer, plone_server

ASK = "/Plone/@rag-ask"
TOLD = {"authorization": "Bearer token"}
HOURS = "When do you open?"
NONCES = itertools.count(10_000_000)


@pytest.fixture
def site() -> Iterator[PloneServer]:
    with plone_server() as server:
        server.add("u1", "/contact", text={"data": "<p>We open at nine.</p>"})
        server.add("u2", "/en/news", text={"data": "<p>We open at ten for ten whales.</p>"})
        yield server


class Served:
    """A server that has indexed the site."""

    def __init__(self, ragstone: Ragstone, http: httpx2.AsyncClient) -> None:
        self.ragstone = ragstone
        self.http = http

    async def ask(self, question: str, address: str = ASK, **body: Any) -> list[Any]:
        """The sources of an answer."""
        asked = await self.http.post(address, json={"question": question, "sync": True, **body})
        assert asked.status_code == 200, asked.text
        return list(asked.json()["sources"])

    async def queue(self, question: str, who: Any = None, **body: Any) -> Any:
        asked = await self.http.post(ASK, json={"question": question, **body}, headers=who)
        assert asked.status_code == 200, asked.text
        return asked.json()

    async def finish(self, job: str) -> Any:
        """What a job ends with."""
        while True:
            polled = await self.http.get(ASK, params={"job_id": job})
            if polled.json().get("status") != "pending":
                return polled.json()
            await asyncio.sleep(0.02)

    async def set_records(self, **records: Any) -> None:
        told = {"nonce": str(next(NONCES)), "records": records}
        response = await self.http.post("/plone/settings", **signed(told))
        assert response.status_code == 200, response.text


@asynccontextmanager
async def serve(site: PloneServer, data: Path, **sections: Any) -> AsyncIterator[Served]:
    plone = PloneSettings(
        url=site.site,
        token=SecretStr(TOKEN),
        webhook_secret=SecretStr(SECRET.decode()),
        anonymous=True,
    )
    settings = load().model_copy(update={"plone": plone, "ragstone_data": data, **sections})
    async with build.open(settings) as ragstone:
        transport = httpx2.ASGITransport(create_app(ragstone, settings, "token"))
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", timeout=PATIENCE
        ) as http:
            for uid in site.objects:
                body = {"uid": uid, "async": False}
                done = await http.post("/Plone/@rag-index", json=body)
                assert done.json()["status"] == "indexed", done.text
            yield Served(ragstone, http)


@pytest.fixture
async def served(site: PloneServer, tmp_path: Path) -> AsyncIterator[Served]:
    async with serve(site, tmp_path / "data") as opened:
        yield opened


def overlap(first: str, second: str) -> int:
    """How many characters of the end of one text the next one begins with."""
    longest = min(len(first), len(second))
    return next((n for n in range(longest, 0, -1) if first.endswith(second[:n])), 0)


async def list_chunks(url: str) -> list[str]:
    """The texts in Elasticsearch's index of the site, in their order."""
    async with httpx2.AsyncClient(base_url=url) as http:
        answer = await http.post("/plone-rag-chunks/_search", json={"size": 1000})
    found = [hit["_source"] for hit in answer.json()["hits"]["hits"]]
    return [chunk["chunk_text"] for chunk in sorted(found, key=lambda chunk: chunk["chunk_index"])]


@pytest.mark.conforms("Plone", "Environment variables", "Chunks of 1000 and 200")
@pytest.mark.conforms("Plone", "Data flow", "Text is split into overlapping chunks")
@pytest.mark.parametrize(
    ("variables", "size", "shared"),
    [({}, 1000, 200), ({"RAG_CHUNK_SIZE": "400", "RAG_CHUNK_OVERLAP": "100"}, 400, 100)],
    ids=["by default", "as set"],
)
async def test_given_a_long_page_then_its_chunks_have_the_length_and_overlap(
    site: PloneServer,
    tmp_path: Path,
    variables: dict[str, str],
    size: int,
    shared: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentences = " ".join(f"Ferry {n} leaves pier {n + 3} at minute {n * 7}." for n in range(200))
    site.objects.clear()
    site.add("long", "/ferries", text={"data": f"<p>{sentences}</p>"})
    index = ElasticsearchServer(tmp_path / "elasticsearch")
    index.start()
    for name, value in {**variables, "INDEX__URL": f"elasticsearch+{index.url}"}.items():
        monkeypatch.setenv(name, value)

    async with serve(site, tmp_path / "data"):
        chunks = await list_chunks(index.url)
    index.stop()

    shares = [overlap(*pair) for pair in itertools.pairwise(chunks)]
    assert all(size * 0.8 < len(chunk) <= size for chunk in chunks[:-1])
    assert all(shared * 0.7 < share <= shared for share in shares)


@pytest.mark.conforms("Plone", "Environment variables", "100 candidates")
@pytest.mark.parametrize(("variable", "most"), [(None, 100), ("30", 30)], ids=["printed", "set"])
async def test_given_many_chunks_then_so_many_are_candidates(
    site: PloneServer,
    tmp_path: Path,
    variable: str | None,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paragraphs = "".join(f"<p>{f'Ferry {n} opens at {n}. ' * 40}</p>" for n in range(130))
    site.add("u1", "/ferries", text={"data": paragraphs})
    if variable:
        monkeypatch.setenv("RAG_NUM_CANDIDATES", variable)

    kept = StatisticsSettings(questions=True)
    async with serve(site, tmp_path / "data", statistics=kept) as served:
        await served.ask("Which ferry opens?")
        await served.ragstone._answers.aclose()
        traces = (await served.http.get("/api/v1/traces?limit=1", headers=TOLD)).json()["traces"]

    decided = {stage["stage"]: stage["decision"] for stage in traces[0]["stages"]}
    assert decided["retrieve"] == f"{most} dense, {most} bm25"


@pytest.mark.conforms("Plone", "Plone registry", "rag_boost_bm25 and rag_boost_knn")
async def test_given_boosts_then_words_or_meaning_count(site: PloneServer, tmp_path: Path) -> None:
    site.add("u3", "/words", text={"data": "<p>The vessel's cook is called Departure Boat.</p>"})
    site.add("u4", "/means", text={"data": "<p>Ships leave the harbour at six every morning.</p>"})
    async with serve(site, tmp_path / "data") as served:
        scores = []
        for bm25, knn in ((10, 0), (5, 5), (0, 10)):
            await served.set_records(rag_boost_bm25=bm25, rag_boost_knn=knn)
            found = await served.ask("When is the departure of the boat from the port?")
            scores.append({source["path"]: source["score"] for source in found}["/means"])
    assert scores[0] < scores[1] < scores[2]


@pytest.mark.conforms("Plone", "Plone registry", "rag_title_boost_factor, above 1 too")
async def test_given_a_boost_for_titles_then_such_a_page_gains(
    site: PloneServer, tmp_path: Path
) -> None:
    site.add("u3", "/a", title="Crane licence", text={"data": "<p>It costs 30 crowns.</p>"})
    text = "<p>A licence for the crane: the crane licence costs crane drivers 40 crowns.</p>"
    site.add("u4", "/b", title="Fees", text={"data": text})
    async with serve(site, tmp_path / "data") as served:
        leads = []
        for boost in (0, 0.5, 10):
            await served.set_records(rag_title_boost_factor=boost)
            found = await served.ask("What does the crane licence cost?")
            score = {source["path"]: source["score"] for source in found}
            leads.append(score["/a"] - score["/b"])
    assert leads[0] < leads[1] < leads[2]


@pytest.mark.conforms(
    "Plone", "Question-answering", "Equal questions of equal permissions share an answer"
)
async def test_given_equal_questions_of_equal_permissions_then_one_job_and_one_answer(
    served: Served,
) -> None:
    await served.ask(HOURS)
    first = await served.queue(HOURS)
    done = await served.finish(first["job_id"])
    again = await served.queue(f"  {HOURS} ")
    other = [await served.queue(HOURS, path="/Plone/en"), await served.queue("Where are you?")]

    assert again["status"] == done["status"] == "completed"
    assert again["answer"] == done["answer"]
    assert {item["status"] for item in other} == {"pending"}
    assert first["job_id"] not in {item["job_id"] for item in other}


@pytest.mark.conforms("Plone", "REST API", "sync only for those who are logged in")
@pytest.mark.conforms(
    "Plone", "Question-answering", "The job's id is of the question, the permissions and the path"
)
async def test_given_visitors_and_a_user_then_sync_is_the_users_and_each_has_an_own_job(
    served: Served,
) -> None:
    ann = bearer(await a_key(served.ragstone, "reader", user="ann", groups=("Member",)))

    async def job(who: dict[str, str], **body: Any) -> str:
        found = await served.queue(HOURS, who, **body)
        return str(found["job_id"])

    refused = await served.http.post(ASK, json={"question": HOURS, "sync": True})
    answered = await served.http.post(ASK, json={"question": HOURS, "sync": True}, headers=ann)
    jobs = await asyncio.gather(job({}), job(ann), job({}, path="/Plone/en"), job({}))

    assert (refused.status_code, refused.json()["type"]) == (401, "Unauthorized")
    assert answered.json()["sources"]
    assert len(set(jobs)) == 3
    assert jobs[0] == jobs[3]
    assert all(item.startswith("ragask_") for item in jobs)


@pytest.mark.conforms("Plone", "Question-answering", "Results are kept for 5 minutes")
async def test_given_an_answer_then_it_is_kept_for_five_minutes(
    served: Served, tmp_path: Path
) -> None:
    job = (await served.queue(HOURS))["job_id"]
    assert (await served.finish(job))["status"] == "completed"

    async def pass_seconds(seconds: float) -> Any:
        """Have the answer be so much older, and ask for it."""
        with sqlite3.connect(tmp_path / "data/state.sqlite") as state:
            state.execute("UPDATE jobs SET expires_at = expires_at - ?", (seconds,))
        return await served.http.get(ASK, params={"job_id": job})

    assert (await pass_seconds(295)).json()["status"] == "completed"
    assert (await pass_seconds(10)).status_code == 404


@pytest.mark.conforms("Plone", "Path filtering", "However the site is addressed")
@pytest.mark.conforms("Plone", "Path filtering", "Only what lies below the path")
async def test_given_a_path_in_any_form_then_only_what_lies_below(
    served: Served, site: PloneServer
) -> None:
    async def paths(address: str = ASK, **body: Any) -> set[str]:
        return {source["path"] for source in await served.ask(HOURS, address, **body)}

    assert await paths() == {"/contact", "/en/news"}
    for path in ("/plone/en", "/Plone/en/", "/en", "en", f"{site.site}/en", "/en/news"):
        assert await paths(path=path) == {"/en/news"}, path
    for path in ("/plone/e", "/plone/en/new", "/fr"):
        assert await paths(path=path) == set(), path
    hosted = "/VirtualHostBase/https/x.org:443/Plone/VirtualHostRoot/en/@rag-ask"
    for address in ("/Plone/en/@rag-ask", "/en/@rag-ask", "/Plone/++api++/en/@rag-ask", hosted):
        assert await paths(address) == {"/en/news"}, address
    assert await paths("/Plone/en/@rag-ask", path="/plone/contact") == {"/contact"}


@pytest.mark.conforms("Plone", "REST API", "Requests and answers as printed")
async def test_given_a_question_that_waits_then_its_job_says_which(served: Served) -> None:
    await served.ragstone.jobs.pause_kind("ask")
    job = (await served.queue(HOURS))["job_id"]
    pending = (await served.http.get(ASK, params={"job_id": job})).json()
    await served.ragstone.jobs.resume_kind("ask")

    assert (pending["status"], pending["question"]) == ("pending", HOURS)
    assert (await served.finish(job))["question"] == HOURS


async def test_given_nothing_is_indexed_then_a_refusal_has_the_question_and_its_language(
    tmp_path: Path,
) -> None:
    with plone_server() as empty:
        async with serve(empty, tmp_path / "data") as served:
            question = "Wann öffnet das Rathaus am Montag?"
            ended = await served.finish((await served.queue(question))["job_id"])

    assert (ended["status"], ended["question"]) == ("completed", question)
    assert ended["answer"] == no_answer(ENGLISH, "de") != ENGLISH


def call_of(name: str) -> Callable[[Any, ModelServer], Any]:
    """What the chat model was told of this for the answer."""
    return lambda answer, model: [call[name] for call in model.calls if call.get("stream")]


def confidences(answer: Any, model: ModelServer) -> list[str]:
    return [source["confidence"] for source in answer["sources"]]


RECORDS: dict[str, tuple[Any, Any, Callable[[Any, ModelServer], Any]]] = {
    "rag_llm_temperature": (0.1, 0.9, call_of("temperature")),
    "rag_llm_max_tokens": (50, 400, call_of("max_tokens")),
    "rag_max_context_length": (500, 5000, call_of("messages")),
    "rag_num_candidates": (10, 100, call_of("messages")),
    "rag_top_k": (1, 4, lambda answer, model: len(answer["sources"])),
    "rag_score_high_threshold": (0.46, 1.0, confidences),
    "rag_score_medium_threshold": (0.01, 0.69, confidences),
}


@pytest.mark.conforms("Plone", "Plone registry", "rag_score_*_threshold compare the score")
async def test_given_a_source_then_its_confidence_is_that_of_the_score_it_shows(
    served: Served,
) -> None:
    for question in (HOURS, "Where is the contact?", "What is the capital of Mongolia?"):
        for source in await served.ask(question):
            score = source["score"]
            expected = "high" if score >= 0.7 else "medium" if score >= 0.45 else "low"
            assert source["confidence"] == expected


@pytest.mark.slow
@pytest.mark.conforms("Plone", "Plone registry", "Two values of any record are told apart")
@pytest.mark.parametrize("record", RECORDS)
async def test_given_two_values_of_a_record_then_a_difference_is_seen(
    site: PloneServer, tmp_path: Path, record: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, differs = RECORDS[record]
    for number in range(12):
        text = f"<p>Pier {number} opens at {number + 6}. {'Boats wait. ' * 60}</p>"
        site.add(f"p{number}", f"/pier-{number}", text={"data": text})
    seen = []
    with model_server(says=("Pier 3 opens at 9 ", "[1].")) as model:
        monkeypatch.setenv("LLM_BASE_URL", model.url)
        monkeypatch.setenv("LLM_MODEL", "llama3.1:8b")
        async with serve(site, tmp_path / "data") as served:
            for value in (first, second, first):
                await served.set_records(**{record: value})
                await served.ragstone.clear_cache()
                model.calls.clear()
                body = {"question": "When does pier 3 open?", "sync": True}
                seen.append(differs((await served.http.post(ASK, json=body)).json(), model))
    assert seen[0] == seen[2] != seen[1], seen
