"""How the RAG engine searches, by what the chat model is asked and the client told."""

from pathlib import Path
from typing import Any, Literal

import pytest

from ragstone.settings import RagSettings
from ragstone.settings.read import load
from tests.http.conftest import QUESTION, Server
from tests.http.documents_client import STREAMS, posted

IMAGINED = "A full charge of the battery is enough for a month in the dark, says the handbook."
OTHER_WORDS = "1. Battery life in darkness\n2. Days without sun"
PARTS = '{"queries": ["How long does a charge last?", "What happens without sun?"]}'
COMPARISON = "Compare the sensors of Lantern 2 and Lantern 3 for me."
WORK = {
    "You write a passage": "hyde",
    "You write search queries": "multi",
    "You take a question apart": "decompose",
    "You judge what it takes": "analysis",
    "You answer from the numbered": "answer",
}
GENERATE, QUERY = "/api/v1/rag/generate", "/api/v1/rag/query"


@pytest.fixture
def replies(with_model: Server) -> Server:
    assert with_model.model is not None
    with_model.model.replies = {
        "You write a passage": IMAGINED,
        "You write search queries": OTHER_WORDS,
        "You take a question apart": PARTS,
    }
    return with_model


def asked(server: Server) -> dict[str, dict[str, Any]]:
    """The calls of the chat model by their work, which are forgotten then."""
    assert server.model is not None
    calls, found = list(server.model.calls), {}
    server.model.calls.clear()
    for call in calls:
        rules = call["messages"][0]["content"]
        name = next((name for start, name in WORK.items() if rules.startswith(start)), rules)
        found[name] = call
    return found


@pytest.mark.conforms("RAG engine v1", "API 1 query", "Under 20 characters: no imagined passage")
async def test_given_a_short_question_then_no_passage_is_imagined(replies: Server) -> None:
    http = await replies.start()
    short = (await http.post(QUERY, json={"query": "Battery charge time"})).json()
    assert set(asked(replies)) == {"answer"}
    assert short["rewritten_query"] == "Battery charge time"
    long = (await http.post(QUERY, json={"query": QUESTION})).json()
    assert set(asked(replies)) == {"hyde", "answer"}
    assert long["rewritten_query"] == IMAGINED


@pytest.mark.conforms("RAG engine v1", "API 2 query-stream", "query_rewritten is what is searched")
async def test_given_a_stream_then_the_rewritten_query_is_what_is_searched(replies: Server) -> None:
    await replies.start()
    answer = await posted(await replies.listen(), f"{QUERY}-stream", {"query": QUESTION})
    events = STREAMS[f"{QUERY}-stream"](answer)
    assert events[0] == {"type": "query_rewritten", "content": IMAGINED}
    assert [event["type"] for event in events].count("query_rewritten") == 1


@pytest.mark.conforms("RAG engine v1", "API 1 query", "advanced: HyDE and other words")
@pytest.mark.parametrize("by_setting", [True, False])
async def test_given_advanced_mode_then_a_passage_and_other_words(
    replies: Server, by_setting: bool
) -> None:
    http = await replies.start(rag=RagSettings(mode="advanced" if by_setting else "simple"))
    mode = {} if by_setting else {"mode": "advanced"}
    assert (await http.post(QUERY, json={"query": QUESTION, **mode})).status_code == 200
    assert set(asked(replies)) == {"hyde", "multi", "answer"}


@pytest.mark.conforms("RAG engine v1", "Environment", "The printed variables")
@pytest.mark.parametrize(
    ("enabled", "in_advanced"), [("true", {"hyde", "multi"}), ("false", {"hyde"})]
)
async def test_given_multi_query_as_printed_then_only_the_advanced_mode_has_other_words(
    replies: Server,
    tmp_path: Path,
    enabled: str,
    in_advanced: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert replies.model is not None
    monkeypatch.setenv("MULTI_QUERY_ENABLED", enabled)
    llm = {"llm.model": "some", "llm.base_url": replies.model.url}
    http = await replies.start_with(load(ragstone_data=str(tmp_path / "data"), **llm))
    for mode, work in (("simple", {"hyde"}), ("advanced", in_advanced)):
        await http.post(QUERY, json={"query": QUESTION, "mode": mode})
        assert set(asked(replies)) == {*work, "answer"}


@pytest.mark.conforms("RAG engine v1", "Answer generator", "1,000 tokens for generate, 2,000 query")
async def test_given_an_address_then_its_printed_length(replies: Server) -> None:
    http = await replies.start()
    for path, printed in ((GENERATE, 1000), (QUERY, 2000)):
        for body in ({"query": QUESTION}, {"query": QUESTION, "stream": True}):
            if path == GENERATE or "stream" not in body:
                await http.post(path, json=body)
                assert asked(replies)["answer"]["max_tokens"] == printed


async def test_given_a_length_by_the_operator_then_it_counts_everywhere(
    replies: Server, tmp_path: Path
) -> None:
    assert replies.model is not None
    llm = {"llm.model": "some", "llm.base_url": replies.model.url, "llm.max_tokens": 3000}
    http = await replies.start_with(load(ragstone_data=str(tmp_path / "data"), **llm))
    for path in (GENERATE, QUERY):
        await http.post(path, json={"query": QUESTION})
        assert asked(replies)["answer"]["max_tokens"] == 3000


@pytest.mark.conforms("RAG engine v1", "Query rewriter", "Temperature .7, and .5 for parts")
async def test_given_a_method_then_the_printed_temperature_and_length(replies: Server) -> None:
    http = await replies.start()
    printed = {"multi": (0.7, 200), "hyde": (0.7, 300), "decompose": (0.5, 200)}
    for method, numbers in printed.items():
        await http.post(GENERATE, json={"query": QUESTION, "rewrite_method": method})
        call = asked(replies)[method]
        assert (call["temperature"], call["max_tokens"]) == numbers


@pytest.mark.conforms("RAG engine v1", "Adaptive RAG", "strategy_used names what was done")
@pytest.mark.parametrize(
    ("strategy", "work"),
    [
        ("DIRECT", set()),
        ("HYDE", {"hyde"}),
        ("QUERY_DECOMPOSITION", {"decompose"}),
        ("HYBRID", {"multi"}),
    ],
)
async def test_given_a_strategy_then_it_is_done_and_named(
    replies: Server, strategy: str, work: set[str]
) -> None:
    http = await replies.start()
    for path in (GENERATE, QUERY):
        body = {"query": QUESTION, "strategy": strategy}
        found = (await http.post(path, json=body)).json()
        assert found["metadata"]["strategy_used"] == strategy
        assert set(asked(replies)) == {*work, "answer"}


async def test_given_a_known_answer_then_no_strategy_is_named(replies: Server) -> None:
    """Nothing was searched for it, so it must not say how."""
    http = await replies.start()
    body = {"query": QUESTION, "rewrite_method": "none"}
    first = (await http.post(GENERATE, json=body)).json()["metadata"]
    await replies.settled()
    again = (await http.post(GENERATE, json=body)).json()["metadata"]

    assert (first["cache_hit"], first["strategy_used"], first["complexity"]) == (False, "DIRECT", 1)
    assert (again["cache_hit"], again["strategy_used"], again["complexity"]) == (True, None, None)
    assert again["query_type"] == first["query_type"]


async def test_given_passages_that_the_prompt_leaves_out_then_they_were_retrieved(
    replies: Server,
) -> None:
    http = await replies.start()
    body = {"query": QUESTION, "top_k": 5}
    found = (await http.post(QUERY, json=body)).json()
    answer = await posted(await replies.listen(), f"{QUERY}-stream", {**body, "mode": "precise"})
    streamed = STREAMS[f"{QUERY}-stream"](answer)

    assert found["retrieved_count"] == found["metadata"]["chunks_found"] == 5
    assert len(found["sources"]) < 5
    assert {"type": "documents_retrieved", "count": 5} in streamed


@pytest.mark.conforms("RAG engine v1", "Adaptive RAG", "Statistics by strategy")
async def test_given_queries_of_two_strategies_then_they_are_counted_apart(
    replies: Server,
) -> None:
    http = await replies.start()
    for query, strategy in ((QUESTION, "HYBRID"), (COMPARISON, "HYBRID"), (QUESTION, "ITERATIVE")):
        await http.post(GENERATE, json={"query": query, "strategy": strategy})
    await replies.settled()
    headers = {"authorization": "Bearer token"}
    found = (await http.get("/api/v1/stats/strategies", headers=headers)).json()["strategies"]
    assert {item["strategy"]: item["executions"] for item in found} == {"hybrid": 2, "iterative": 1}
    assert all(item["seconds"] > 0 for item in found)


@pytest.mark.conforms("RAG engine v1", "Adaptive RAG", "The chat model analyses the query")
@pytest.mark.conforms("RAG engine v1", "Adaptive RAG", "HYDE from complexity 6, parts from 7")
@pytest.mark.parametrize(
    ("complexity", "strategy"), [(2, "DIRECT"), (6, "HYDE"), (8, "QUERY_DECOMPOSITION")]
)
async def test_given_accuracy_then_the_models_analysis_decides(
    replies: Server, complexity: int, strategy: str
) -> None:
    assert replies.model is not None
    replies.model.replies["You judge what it takes"] = f'{{"complexity": {complexity}}}'
    http = await replies.start()
    body = {"query": QUESTION, "prefer": "accuracy"}
    found = (await http.post(QUERY, json=body)).json()["metadata"]
    assert (found["complexity"], found["strategy_used"]) == (complexity, strategy)


@pytest.mark.conforms("RAG engine v1", "Adaptive RAG", "HYBRID for comparisons")
@pytest.mark.conforms(
    "RAG engine v1", "Adaptive RAG", "Comparisons of complexity 6 and more are HYBRID"
)
@pytest.mark.parametrize(
    ("analysis", "work"),
    [
        ('{"complexity": 4, "comparison": true}', set()),
        ('{"complexity": 6, "comparison": true}', {"multi"}),
        ('{"complexity": 9, "comparison": true, "reasoning": true}', {"multi"}),
    ],
)
async def test_given_a_comparison_then_the_strategy_is_hybrid(
    replies: Server, analysis: str, work: set[str]
) -> None:
    assert replies.model is not None
    replies.model.replies["You judge what it takes"] = analysis
    http = await replies.start()
    body = {"query": COMPARISON, "prefer": "accuracy"}
    found = (await http.post(QUERY, json=body)).json()["metadata"]
    assert (found["query_type"], found["strategy_used"]) == ("COMPARISON", "HYBRID")
    assert {"multi", "hyde", "decompose"} & set(asked(replies)) == work


@pytest.mark.conforms("RAG engine v1", "Prompt generator", "mode: simple, advanced, precise")
@pytest.mark.parametrize(
    ("mode", "rule"),
    [
        ("simple", "Be concise"),
        ("advanced", "explain your reasoning, and answer in 300 to 500 words"),
        ("precise", "no assumption, no inference, no addition. Every sentence needs its source"),
    ],
)
async def test_given_a_mode_then_its_instruction(replies: Server, mode: str, rule: str) -> None:
    http = await replies.start()
    assert (await http.post(QUERY, json={"query": QUESTION, "mode": mode})).status_code == 200
    assert rule in asked(replies)["answer"]["messages"][0]["content"]


@pytest.mark.conforms(
    "RAG engine v1", "Context builder", "Context: and Question: in one user message"
)
async def test_given_passages_then_context_and_question_are_one_message(replies: Server) -> None:
    http = await replies.start()
    for path in (GENERATE, QUERY):
        assert (await http.post(path, json={"query": QUESTION})).status_code == 200
        _, message = asked(replies)["answer"]["messages"]
        assert message["content"].startswith("Context:\n[Source 1] (File: lantern-3-manual.md")
        assert "\n\n---\n\n[Source 2] (File: " in message["content"]
        assert message["content"].endswith(f"\n\nQuestion: {QUESTION}")


@pytest.mark.conforms("RAG engine v1", "Failure paths", "Nothing fits: chunks_found is 0")
@pytest.mark.parametrize("path", [GENERATE, QUERY])
async def test_given_nothing_fits_then_no_chunk_was_found(server: Server, path: str) -> None:
    http = await server.start()
    body = {"query": "What is the capital of Mongolia?"}
    found = (await http.post(path, json=body)).json()
    assert found["answer"] == "I couldn't find relevant information to answer your question."
    assert found["metadata"]["chunks_found"] == 0


@pytest.mark.conforms("RAG engine v1", "Validation", "422 in ordinary language")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"query": ""}, "it is empty; write what you want to know"),
        ({"query": "x" * 5001}, "it may have at most 5,000 characters"),
        ({"query": "x", "tenant_id": "y" * 256}, "it may have at most 255 characters"),
        ({"query": "x", "top_k": 51}, "it must be at most 50"),
        ({"query": "x", "top_k": "ten"}, "it must be a whole number"),
        ({"query": "x", "include_citations": "no!"}, "it must be true or false"),
        ({"query": 3}, "it must be a text"),
        ({}, "it is missing"),
    ],
)
async def test_given_a_wrong_field_then_422_says_what(
    server: Server, body: dict[str, Any], said: str
) -> None:
    http = await server.start()
    response = await http.post(GENERATE, json=body)
    assert response.status_code == 422
    assert response.json()["detail"][0]["msg"] == said
    assert response.json()["error"]["message"].endswith(f": {said}.")


@pytest.mark.conforms(
    "RAG engine v1", "Failure paths", "Rewriting fails: the question itself is searched"
)
async def test_given_rewriting_that_fails_then_the_question_as_it_was_asked(
    replies: Server,
) -> None:
    http = await replies.start(name="gpt-4")
    assert replies.model is not None
    for question in (QUESTION, "And in winter?"):
        replies.model.ways = ["500"]
        body = {"query": question, "conversation_id": "c1"}
        found = (await http.post(QUERY, json=body)).json()
        assert found["rewritten_query"] == question
        assert found["metadata"]["finish_reason"] == "stop"
        await replies.settled()


@pytest.mark.conforms("RAG engine v1", "Prompt generator", "precise: the printed refusal")
async def test_given_a_question_in_chinese_then_the_printed_refusal(replies: Server) -> None:
    assert replies.model is not None
    http = await replies.start()
    printed = "参考资料中未找到相关信息"
    replies.model.says = (printed,)
    body = {"query": "月球上有多少人居住在基地?", "mode": "precise"}
    found = (await http.post(QUERY, json=body)).json()
    assert printed in asked(replies)["answer"]["messages"][0]["content"]
    assert found["answer"] == printed
    assert found["metadata"]["finish_reason"] == "refused"
    assert found["citations"] == []


NEED, ALONE = "You decide whether a question needs documents", "You have no documents here"


@pytest.mark.conforms(
    "RAG engine v1", "Self-RAG", "Whether a first question needs documents is judged"
)
@pytest.mark.parametrize("path", [GENERATE, QUERY])
async def test_given_common_knowledge_then_self_rag_searches_nothing_and_says_so(
    replies: Server, path: str
) -> None:
    assert replies.model is not None
    replies.model.replies |= {NEED: '{"documents": false}', ALONE: "A dozen are 12 pieces. [1]"}
    http = await replies.start()
    body = {"query": "How many pieces are a dozen?", "self_rag": True}
    found = (await http.post(path, json=body)).json()
    assert found["answer"] == "A dozen are 12 pieces."
    assert found["citations"] == []
    told = found["metadata"]
    assert (told["chunks_found"], told["is_grounded"]) == (0, False)
    assert [item["risk"] for item in told["hallucinations"]] == ["high"]
    assert "answer" not in asked(replies)
    streamed = f"{path}-stream" if path == QUERY else f"{path}/stream"
    answer = await posted(await replies.listen(), streamed, body)
    said = "".join(event.get("content", "") for event in STREAMS[streamed](answer)[1:])
    assert said == "A dozen are 12 pieces."
    assert (await http.post(path, json={**body, "self_rag": False})).status_code == 200
    assert "answer" in asked(replies)


@pytest.mark.parametrize(
    ("reply", "checking"),
    [
        ('{"documents": true}', "report"),
        ("perhaps", "report"),
        ("", "report"),
        ('{"documents": false}', "strict"),
    ],
)
async def test_given_doubt_or_a_strict_check_then_self_rag_searches_the_documents(
    replies: Server, reply: str, checking: Literal["report", "strict"]
) -> None:
    assert replies.model is not None
    replies.model.replies |= {NEED: reply, ALONE: "For ever."}
    http = await replies.start(rag=RagSettings(checking=checking))
    found = (await http.post(GENERATE, json={"query": QUESTION, "self_rag": True})).json()
    assert found["answer"].startswith("It lasts 31 days")
    assert found["citations"]
