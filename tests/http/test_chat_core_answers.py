"""What chat-core's document prints of an answer: the whole of Ragstone, with a real model server,
a real knowledge base over HTTP, a real MCP server and a real Redis beside it."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from ragstone.core.conversation import conversation_key
from ragstone.core.turn import Principal
from ragstone.models.prompt import MEANS, REFER
from ragstone.plugins.agent.settings import McpSettings
from ragstone.service import IngestRequest
from ragstone.settings import CacheSettings, ConversationSettings, IndexSettings
from tests.agent.scenarios.tool_server import ToolServer
from tests.http.conftest import QUESTION, ROWS, KnowledgeBase, Server
from tests.http_server import running
from tests.mcp_gateway import gateway
from tests.model_server import ModelServer, closed_port
from tests.mongo_server import mongo_server
from tests.redis_server import redis_server

NAME = "openai/gpt-oss-120b"
REWRITES = "You turn the last message of a conversation"
SEVERAL = "And how much is a hotel in Oslo, and by how much does the service contract rise?"
HOTEL = "Up to how many euros are hotel rooms in Oslo reimbursed?"
CONTRACT = "By how much does the yearly service contract rise?"
PARTS = json.dumps({"queries": [HOTEL, CONTRACT]})


async def heard(http: httpx2.AsyncClient, query: str, name: str = "rag", **fields: Any) -> Any:
    """The events of an answer."""
    body = {"query": query, "room_id": "r", "user_id": "u", **fields}
    response = await http.post(f"/v2/{name}/query", json=body)
    assert response.status_code == 200, response.text
    return [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data:")]


def a_model(server: Server) -> ModelServer:
    assert server.model is not None
    server.model.replies = {REWRITES: PARTS}
    return server.model


def prompts(model: ModelServer) -> list[tuple[str, str]]:
    """The system's text and the last message of each answer that was asked for."""
    asked = [call["messages"] for call in model.calls if call.get("stream")]
    return [(str(item[0]["content"]), str(item[-1]["content"])) for item in asked]


def said(events: list[Any], kind: str) -> list[str]:
    return [event["content"] for event in events if event["type"] == kind]


@pytest.mark.conforms("chat-core", "4.2", "A follow-up that asks several things: sub-queries")
@pytest.mark.conforms("chat-core", "7.1", "Every sub-query of the rewrite is answered")
@pytest.mark.conforms("chat-core", "4.6", "Reference [1] : [name], then the question as asked")
@pytest.mark.conforms("chat-core", "7.4", "The prompt asks for SOURCES_USED")
@pytest.mark.conforms("chat-core", "10.1", "10000 tokens at most, temperature .2")
async def test_given_a_follow_up_that_asks_several_things_then_all_of_it_reaches_the_model(
    with_model: Server,
) -> None:
    http, model = await with_model.start(name=NAME), a_model(with_model)
    await heard(http, QUESTION)
    events = await heard(http, SEVERAL)
    system, message = prompts(model)[-1]
    assert message.startswith(REFER)
    assert "Reference [1] : [" in message
    assert "210 euros in London" in message
    assert "240 to 265 euros" in message
    assert message.endswith(f"[Question]\n{SEVERAL}\n\n{MEANS}\n{HOTEL} {CONTRACT}")
    assert "SOURCES_USED: 1, 3" in system
    assert "210 euros in London" not in system
    assert model.calls[-1]["max_tokens"] == 10_000
    assert model.calls[-1]["temperature"] == 0.2
    assert f'Query rewriting complete: "{HOTEL} {CONTRACT}"' in said(events, "debug")
    [searched] = [text for text in said(events, "debug") if text.startswith("search_subqueries")]
    assert searched.startswith("search_subqueries: 2 questions, 0 from the cache")


@pytest.mark.conforms("chat-core", "4.4", "Cached results are used for the queries that have them")
@pytest.mark.conforms("chat-core", "7.3", "Cache or search, query by query, then all together")
@pytest.mark.conforms("chat-core", "13.1", "Equal questions reuse search results, in Redis too")
async def test_given_one_part_in_the_cache_then_the_other_is_searched_and_both_are_answered(
    with_model: Server, tmp_path: Path
) -> None:
    with redis_server(tmp_path) as redis:
        http = await with_model.start(name=NAME, cache=CacheSettings(url=redis.url))
        model = a_model(with_model)
        await heard(http, HOTEL, room_id="another")
        await with_model.settled()
        await heard(http, QUESTION)
        first = await heard(http, SEVERAL)
    [searched] = [text for text in said(first, "debug") if text.startswith("search_subqueries")]
    assert searched.startswith("search_subqueries: 2 questions, 1 from the cache")
    for fact in ("210 euros in London", "240 to 265 euros"):
        assert fact in prompts(model)[2][1]


@pytest.mark.conforms("chat-core", "6.2", "The steps in their printed order, then the tokens")
@pytest.mark.conforms("chat-core", "6.1", "step, debug, token, done as printed")
async def test_given_any_answer_then_the_steps_come_in_the_printed_order(
    with_model: Server,
) -> None:
    http = await with_model.start(name=NAME)
    model = a_model(with_model)
    model.model, model.says = NAME, ("A full charge lasts 31 days without sun ", "[1].")
    fresh = await heard(http, QUESTION)
    await with_model.settled()
    cached = await heard(http, QUESTION, room_id="another")
    talk = await heard(http, "Thank you!", room_id="third")
    understanding, searching, answering = (
        "Understanding the intent of the user's question...",
        "Searching for relevant documents...",
        "Generating an answer...",
    )
    for events in (fresh, cached):
        assert said(events, "step") == [understanding, searching, answering]
        kinds = [event["type"] for event in events]
        rewriting = events.index(
            next(e for e in events if e.get("content") == f'Query rewriting complete: "{QUESTION}"')
        )
        steps = [at for at, kind in enumerate(kinds) if kind == "step"]
        assert steps[0] < rewriting < steps[1] < steps[2] < kinds.index("token")
        assert kinds[-1] == "done"
        assert set(kinds[kinds.index("token") : -1]) <= {"token", "debug"}
    assert "recall: the whole answer" in said(cached, "debug")[1], said(cached, "debug")
    assert said(talk, "step") == [understanding, answering]


@pytest.mark.conforms("chat-core", "7.4", "SOURCES_USED becomes references and is not sent")
@pytest.mark.conforms("chat-core", "5.2", "result.references are what was sent")
async def test_given_sources_used_then_stored_and_sent_references_are_alike(
    with_model: Server,
) -> None:
    http, model = await with_model.start(name=NAME), a_model(with_model)
    model.says = ("It lasts 31 days. ", "SOURCES", "_USED: 1")
    events = await heard(http, QUESTION)
    assert "".join(said(events, "token")) == "It lasts 31 days. [1]"
    [reference] = events[-1]["references"]
    assert reference["metadatas"]["file_name"] == "lantern-3-manual.md"
    assert "A full charge lasts 31" in reference["context"]
    await with_model.settled()
    assert with_model.service is not None
    here = conversation_key(Principal(), "r", "u")
    [block] = [entry.block for entry in await with_model.service.conversations.entries(here, 5)]
    assert json.loads(json.dumps(list(block.result.references))) == events[-1]["references"]
    assert block.result.search_decision.rewritten_query == (QUESTION,)


@pytest.mark.conforms(
    "chat-core", "12.2", "/v2/gpt/query: the conversation, with the room's prompt"
)
async def test_given_a_room_prompt_then_it_holds_without_documents_too(
    with_model: Server,
) -> None:
    http, model = await with_model.start(name=NAME), a_model(with_model)
    headers = {"authorization": "Bearer token"}
    text = {"text": "You are Ada of Northmoor."}
    put = await http.put("/api/v1/prompts/add_room_system_prompt", json=text, headers=headers)
    assert put.status_code == 200, put.text
    await heard(http, "Who are you?", "gpt")
    await heard(http, QUESTION)
    for system, _ in prompts(model):
        assert system.startswith("You are Ada of Northmoor.\n")


FAQ = {
    "p_id": "f",
    "context": "Q: How do I get my money back?\nA: Hand in the form within 30 days.",
    "score": 0.93,
    "metadatas": {"file_name": "faq.pdf", "paragraph_type": "faq"},
}


async def asking(server: Server, kdb: KnowledgeBase) -> tuple[httpx2.AsyncClient, ModelServer]:
    """A Ragstone over the knowledge base, and its chat model."""
    http = await server.start(name=NAME, index=IndexSettings(url=f"kdb+{kdb.url}"))
    return http, a_model(server)


@pytest.mark.conforms("chat-core", "4.5", "KDB: every sub-query is sent, with the session's filter")
@pytest.mark.conforms("chat-core", "7.3", "Search parameters are those of the session")
@pytest.mark.conforms("chat-core", "4.5", "KDB: the scores of the results are kept")
async def test_given_a_knowledge_base_then_every_part_is_sent_and_its_scores_stay(
    with_model: Server, kdb: KnowledgeBase
) -> None:
    http, model = await asking(with_model, kdb)
    model.says = ("210 euros [2].",)
    fields: dict[str, Any] = {
        "collection_name": "kac_law",
        "metadata_filter_key": "class",
        "metadata_filter_values": ["Law"],
        "top_k": 7,
    }
    await heard(http, QUESTION, **fields)
    events = await heard(http, SEVERAL, **fields)
    assert {item["query"] for item in kdb.asked[1:]} == {HOTEL, CONTRACT}
    assert kdb.asked[-1] == {
        "collection_name": "kac_law",
        "query": kdb.asked[-1]["query"],
        "use_paragraph": False,
        "metadata_filter_key": "class",
        "match_values": ["Law"],
        "top_k": 7,
    }
    [reference] = events[-1]["references"]
    assert (reference["p_id"], reference["score"]) == ("p2", 0.31)
    assert reference["metadatas"] == ROWS[1]["metadatas"]


@pytest.mark.conforms("chat-core", "4.4", "What the knowledge base finds is cached")
@pytest.mark.conforms("chat-core", "13.1", "Search results live 15 minutes")
async def test_given_a_knowledge_base_then_what_it_found_is_kept_for_a_while(
    with_model: Server, kdb: KnowledgeBase
) -> None:
    http, _ = await asking(with_model, kdb)
    first = await heard(http, HOTEL, room_id="a")
    await with_model.settled()
    equal = "Up to how many euros is a hotel room in Oslo reimbursed?"
    same, again = await heard(http, HOTEL, room_id="b"), await heard(http, equal, room_id="c")
    assert len(kdb.asked) == 1
    for events in (same, again):
        assert events[-1]["references"] == first[-1]["references"]
    await heard(http, HOTEL, room_id="d", collection_name="another")
    await heard(http, HOTEL, room_id="e", top_k=3)
    filters = {"metadata_filter_key": "class", "metadata_filter_values": ["Law"]}
    await heard(http, HOTEL, room_id="f", **filters)
    assert len(kdb.asked) == 4
    assert with_model.service is not None
    recipe = with_model.service._configured.of(dialect="chat_core").settings.cache
    assert recipe.default_ttl_seconds == 15 * 60


async def test_given_a_message_of_several_then_the_knowledge_base_is_asked_what_is_not_kept(
    with_model: Server, kdb: KnowledgeBase
) -> None:
    http, _ = await asking(with_model, kdb)
    await heard(http, HOTEL, room_id="another")
    await with_model.settled()
    await heard(http, QUESTION)
    await heard(http, SEVERAL)
    assert [item["query"] for item in kdb.asked] == [HOTEL, QUESTION, CONTRACT]


async def test_given_the_local_index_stands_by_then_its_finds_are_not_kept(
    with_model: Server, kdb: KnowledgeBase
) -> None:
    http, _ = await asking(with_model, kdb)
    kdb.found = 503
    for room in ("a", "b"):
        await heard(http, QUESTION, room_id=room)
        await with_model.settled()
    kdb.found = ROWS
    events = await heard(http, QUESTION, room_id="c")
    assert len(kdb.asked) == 3
    assert {event["p_id"] for event in events[-1]["references"]} <= {"p1", "p2"}


@pytest.mark.conforms("chat-core", "7.4", "A CSV with question and answer columns is a FAQ")
async def test_given_a_csv_of_questions_and_answers_then_the_model_is_not_asked(
    with_model: Server, tmp_path: Path
) -> None:
    table = tmp_path / "faq.csv"
    table.write_text(
        "question,answer\nHow do I reset my password?,Press Reset. You get a mail.\n"
        "Can I return a used lamp?,Within 30 days.\n",
        encoding="utf-8",
    )
    http, model = await with_model.start(name=NAME), a_model(with_model)
    assert with_model.service is not None
    async for _ in with_model.service.ingest(IngestRequest(paths=(str(table),))):
        pass
    events = await heard(http, "How can I reset the password?")
    assert "".join(said(events, "token")).strip() == "Press Reset. You get a mail. [1]"
    assert not prompts(model)


FAQS = {
    "en": {
        "How do I cancel my order?": "Open Orders and press Cancel.",
        "Can I return a used lamp?": "Yes, within 30 days.",
        "Which versions run on Windows 11?": "Versions 7 and 8.",
    },
    "de": {
        "Wie storniere ich meine Bestellung?": "Unter Bestellungen auf Stornieren drücken.",
        "Kann ich eine benutzte Lampe zurückgeben?": "Ja, innerhalb von 30 Tagen.",
        "Welche Versionen laufen unter Windows 11?": "Die Versionen 7 und 8.",
    },
    "zh": {
        "怎样取消订单?": "打开订单,点击取消。",
        "用过的灯可以退货吗?": "可以,30天内。",
        "哪些版本支持Windows 11?": "版本7和8。",
    },
}
"""Questions and answers of a FAQ in each language."""

IN_OTHER_WORDS = {
    "What do I have to do to call off an order?": "How do I cancel my order?",
    "Do you take back lamps that were already in use?": "Can I return a used lamp?",
    "Was muss ich tun, um einen Auftrag zu stornieren?": "Wie storniere ich meine Bestellung?",
    "Nehmen Sie gebrauchte Lampen zurück?": "Kann ich eine benutzte Lampe zurückgeben?",
    "想撤回已下的订单,该怎么操作?": "怎样取消订单?",
    "灯已经使用过了,还能退吗?": "用过的灯可以退货吗?",
}
NEAR = {
    "en": ["How do I change my order?", "Can I buy a used lamp?", "Can I return a used battery?"],
    "de": ["Wie ändere ich meine Bestellung?", "Kann ich eine benutzte Lampe kaufen?"],
    "zh": ["怎样修改订单?", "可以买二手灯吗?"],
}
MARKED = [
    ("en", "Which versions run on Windows 10?"),
    ("en", "Which versions do not run on Windows 11?"),
    ("de", "Welche Versionen laufen unter Windows 10?"),
    ("de", "Welche Versionen laufen nicht unter Windows 11?"),
    ("zh", "哪些版本支持Windows 10?"),
    ("zh", "哪些版本不支持Windows 11?"),
]
"""Questions that only a number or a negation tells from one of the FAQ."""

WRITTEN = "This is what the chat model writes. [1]"


def judge(prompt: str) -> str:
    """What a chat model that can read says: which question of the FAQ asks the same, or an
    answer."""
    if "<faq>" not in prompt:
        return WRITTEN
    asked = prompt.partition("<question>\n")[2].partition("\n</question>")[0]
    lines = prompt.partition("<faq>\n")[2].splitlines()
    same = [line for line in lines if line.endswith(f". {IN_OTHER_WORDS.get(asked)}")]
    return f'{{"same": {same[0].partition(".")[0] if same else 0}}}'


async def start_with_faq(server: Server, folder: Path, language: str) -> httpx2.AsyncClient:
    table = folder / "faq.csv"
    rows = [f'"{question}","{answer}"' for question, answer in FAQS[language].items()]
    table.write_text("\n".join(["question,answer", *rows]), encoding="utf-8")
    http = await server.start(name=NAME)
    assert server.service is not None
    async for _ in server.service.ingest(IngestRequest(paths=(str(table),))):
        pass
    return http


@pytest.mark.conforms("chat-core", "7.4", "A FAQ's question in other words is answered directly")
@pytest.mark.parametrize("language", FAQS)
async def test_given_a_faq_in_other_words_then_its_answer_and_for_another_question_the_models(
    with_model: Server, tmp_path: Path, language: str
) -> None:
    http, model = await start_with_faq(with_model, tmp_path, language), a_model(with_model)
    model.reply_to = judge
    faq = FAQS[language]
    for asked, same in IN_OTHER_WORDS.items():
        if same in faq:
            before = model.streamed
            events = await heard(http, asked, room_id="")
            assert events[-1]["final_response"] == f"{faq[same]} [1]"
            assert model.streamed == before
    for asked in NEAR[language]:
        events = await heard(http, asked, room_id="")
        assert events[-1]["final_response"] == WRITTEN


@pytest.mark.parametrize(("language", "question"), MARKED)
async def test_given_another_number_or_negation_then_not_even_a_wrong_model_gives_the_faq(
    with_model: Server, tmp_path: Path, language: str, question: str
) -> None:
    http, model = await start_with_faq(with_model, tmp_path, language), a_model(with_model)
    model.reply_to = lambda prompt: '{"same": 1}' if "<faq>" in prompt else WRITTEN
    events = await heard(http, question)
    given = events[-1]["final_response"].removesuffix(" [1]")
    assert given != FAQS[language][[*FAQS[language]][-1]]


@pytest.mark.conforms(
    "chat-core", "7.4", "A FAQ among the results is the answer, without the model"
)
async def test_given_a_faq_from_the_knowledge_base_then_the_model_is_not_asked(
    with_model: Server, kdb: KnowledgeBase
) -> None:
    http, model = await asking(with_model, kdb)
    kdb.found = [FAQ, *ROWS]
    events = await heard(http, "When must I claim to be paid back?")
    assert events[-1]["final_response"] == "Hand in the form within 30 days. [1]"
    assert events[-1]["references"][0]["p_id"] == "f"
    assert not model.calls
    kdb.found = [{**FAQ, "score": 0.2}, *ROWS]
    # Another number of results is another search, which no cache knows.
    await heard(http, "When must I claim to be paid back?", top_k=50)
    assert model.calls


@pytest.mark.conforms("chat-core", "11.1", "Vector DB: 404 is an empty result")
@pytest.mark.conforms("chat-core", "11.1", "Vector DB error: local search")
async def test_given_a_knowledge_base_that_fails_then_404_is_nothing_and_else_we_search(
    with_model: Server, kdb: KnowledgeBase
) -> None:
    http, _ = await asking(with_model, kdb)
    kdb.found = 404
    empty = await heard(http, QUESTION, room_id="")
    assert empty[-1]["references"] == []
    assert "do not hold an answer" in empty[-1]["final_response"]
    for kdb.found in (500, 503, "no rows"):
        events = await heard(http, QUESTION, room_id="")
        assert "The local index answers instead." in str(said(events, "step"))
        assert events[-1]["references"][0]["metadatas"]["file_name"] == "lantern-3-manual.md"
        events = await heard(http, QUESTION, room_id="", collection_name="kac_law")
        assert events[-1]["references"] == []
        assert "do not hold an answer" in events[-1]["final_response"]


@pytest.mark.conforms("chat-core", "7.4", "Of 100 passages only those used are references")
@pytest.mark.parametrize(
    ("reply", "used"), [("31 days [1].", 1), ("31 days. SOURCES_USED: 1", 1), ("31 days.", 0)]
)
async def test_given_100_passages_then_only_what_the_answer_used_is_a_reference(
    with_model: Server, reply: str, used: int
) -> None:
    http, model = await with_model.start(name=NAME), a_model(with_model)
    model.says = (reply,)
    events = await heard(http, QUESTION, top_k=100)
    assert prompts(model)[-1][1].count("Reference [") > 5
    files = [item["metadatas"]["file_name"] for item in events[-1]["references"]]
    assert files == ["lantern-3-manual.md"] * used


@pytest.mark.conforms("chat-core", "9.2", "Statistics by user_id over HTTP, in MongoDB too")
@pytest.mark.parametrize("in_mongodb", [False, True])
async def test_given_users_that_requests_name_then_statistics_are_theirs(
    with_model: Server, tmp_path: Path, in_mongodb: bool
) -> None:
    with mongo_server(tmp_path) if in_mongodb else nullcontext() as mongo:
        url = SecretStr(f"{mongo.url.rstrip('/')}/users" if mongo else "")
        http = await with_model.start(name=NAME, conversation=ConversationSettings(url=url))
        a_model(with_model)
        for user in ("eva", "bob", "eva"):
            await heard(http, QUESTION, user_id=user, room_id=user)
            await with_model.settled()
        headers = {"authorization": "Bearer token"}
        found = (await http.get("/api/v1/stats?by=user_id", headers=headers)).json()["use"]
    assert {item["name"]: item["questions"] for item in found} == {"bob": 1, "eva": 2}
    assert sum(item["prompt_tokens"] for item in found) > 0


TOOL_CALL = 'call {name} {{"query": "Ost"}}'


@pytest.mark.conforms("chat-core", "12.3", "/v2/pa/query: tools over MCP with documents")
@pytest.mark.conforms("chat-core", "15.1", "MCP results as text, as an object and as rows are read")
@pytest.mark.parametrize(
    "name", ["search_text", "search_json", "search_rows", "search_other_rows", "search_object"]
)
async def test_given_a_tool_that_searches_then_what_it_returns_is_read(
    with_model: Server, name: str
) -> None:
    with gateway() as tools:
        http = await with_model.start(
            name=NAME, mcp=McpSettings(gateway=tools.url, mcp_enabled=True)
        )
        model = a_model(with_model)
        model.ways = [TOOL_CALL.format(name=name)]
        model.says = ("In 1871 [1].",)
        events = await heard(http, "When was Ost built?", "pa", collection_name="elsewhere")
    told = next(m for m in model.calls[1]["messages"] if m["role"] == "tool")
    assert "built in 1871" in told["content"]
    assert "built in 1871" in prompts(model)[-1][1]
    [reference] = events[-1]["references"]
    assert "built in 1871" in reference["context"]
    assert (reference["p_id"] == "p1") == (name in ("search_json", "search_rows"))


@pytest.mark.conforms("chat-core", "7.3", "With MCP enabled /v2/rag calls the gateway's search")
async def test_given_a_gateway_with_a_search_then_rag_asks_it_as_the_session_says(
    with_model: Server,
) -> None:
    with gateway() as tools:
        http = await with_model.start(
            name=NAME, mcp=McpSettings(gateway=tools.url, mcp_enabled=True)
        )
        a_model(with_model).says = ("In 1871 [1].",)
        fields = {"metadata_filter_key": "class", "metadata_filter_values": ["Law"]}
        asked = {"mcp_org": "ACME", "collection_name": "kac_law", "top_k": 7, **fields}
        events = await heard(http, "When was Ost built?", **asked)
        await with_model.settled()
        await heard(http, "When was Ost built?", **{**asked, "room_id": "another"})
        assert tools.organisations == ["ACME"]
        assert tools.searches == [
            {
                "query": "When was Ost built?",
                "collection_name": "kac_law",
                "top_k": 7,
                "use_paragraph": False,
                "metadata_filter_key": "class",
                "match_values": ["Law"],
            }
        ]
    assert "built in 1871" in prompts(a_model(with_model))[-1][1]
    [reference] = events[-1]["references"]
    assert (reference["p_id"], reference["score"]) == ("p1", 0.85)


@pytest.mark.conforms("chat-core", "11.1", "MCP failure at /v2/rag: local search")
@pytest.mark.parametrize("fails", ["down", "an error", "no search"])
async def test_given_a_gateway_that_cannot_search_then_the_documents_are(
    with_model: Server, fails: str
) -> None:
    with gateway(broken=True) as tools, running(ToolServer().server().streamable_http_app()) as no:
        url = {"down": closed_port(), "an error": tools.url, "no search": f"{no}/mcp"}[fails]
        http = await with_model.start(name=NAME, mcp=McpSettings(gateway=url, mcp_enabled=True))
        events = await heard(http, QUESTION)
        assert "The local index answers instead." in str(said(events, "step"))
        again = await heard(http, QUESTION, room_id="")
    for done in (events[-1], again[-1]):
        assert done["references"][0]["metadatas"]["file_name"] == "lantern-3-manual.md"


async def test_given_a_search_that_finds_nothing_then_the_documents_are_searched(
    with_model: Server,
) -> None:
    with gateway(found=[]) as tools:
        http = await with_model.start(
            name=NAME, mcp=McpSettings(gateway=tools.url, mcp_enabled=True)
        )
        model = a_model(with_model)
        model.ways = [TOOL_CALL.format(name="search_rows")]
        events = await heard(http, QUESTION, "pa")
    assert events[-1]["references"][0]["metadatas"]["file_name"] == "lantern-3-manual.md"


@pytest.mark.conforms("chat-core", "11.1", "LLM error: an error event, with the usage")
@pytest.mark.conforms("chat-core", "11.2", "Error during streaming: with what was said so far")
@pytest.mark.parametrize("name", ["rag", "gpt"])
async def test_given_a_model_that_fails_then_an_error_event_has_what_was_said(
    with_model: Server, name: str
) -> None:
    http, model = await with_model.start(name=NAME), a_model(with_model)
    for model.way, said_before in (("500", ""), ("cut", "It lasts 31 days")):
        error = (await heard(http, QUESTION, name, is_test=True))[-1]
        assert list(error) == ["type", "content", "detail", "final_response", "usage"]
        assert error["type"] == "error"
        assert error["content"].startswith("An error occurred: ")
        assert error["detail"] == "model_unavailable"
        assert error["final_response"].startswith(said_before)
        assert set(error["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}


@pytest.mark.conforms("chat-core", "11.2", "The usage of a reply that is cut mid-stream")
@pytest.mark.parametrize("way", ["cut", "cut cleanly"])
@pytest.mark.parametrize("name", ["rag", "gpt"])
async def test_given_a_reply_that_is_cut_then_its_tokens_are_counted_and_kept(
    with_model: Server, way: str, name: str
) -> None:
    http, model = await with_model.start(name=NAME), a_model(with_model)
    model.way, model.says = way, ("".join(f"Day {day} is dark. " for day in range(30)), "[1]")
    error = (await heard(http, QUESTION, name, room_id="r1"))[-1]
    assert error["type"] == "error"
    used = error["usage"]
    read = sum(len(message["content"]) for message in model.calls[-1]["messages"])
    assert read / 6 < used["prompt_tokens"] < read / 2
    assert 120 <= used["completion_tokens"] <= 240, "30 sentences of 6 tokens"
    assert used["total_tokens"] == used["prompt_tokens"] + used["completion_tokens"]
    await with_model.settled()
    told = {"room_id": "r1", "user_id": "u"}
    kept = (await http.get(f"/v2/{name}/query", params=told)).json()
    assert kept == {"tokens": used["total_tokens"]}


@pytest.mark.conforms("chat-core", "11.1", "Query rewrite failure: the question as it was asked")
@pytest.mark.parametrize("name", [NAME, "llama3.2:1b", "unknown"])
async def test_given_a_rewrite_that_fails_then_the_question_itself_is_searched(
    with_model: Server, name: str
) -> None:
    http, model = await with_model.start(name=name), a_model(with_model)
    await heard(http, "Which part is the Heating jacket for?")
    # The second leans on what was said before, and nobody makes a question of its own of it.
    questions = {
        "What is the daily allowance for meals?": "42 euros",
        "And the solar panel?": "at most 30 watts",
    }
    for asked, passage in questions.items():
        model.replies, model.ways = {}, ["500"]
        events = await heard(http, asked)
        assert f'Query rewriting complete: "{asked}"' in said(events, "debug")
        assert passage in prompts(model)[-1][1]
        assert events[-1]["type"] == "done"


@pytest.mark.conforms("chat-core", "11.1", "Cache error: it is searched without the cache")
async def test_given_a_cache_that_is_gone_then_it_is_searched(
    with_model: Server, tmp_path: Path
) -> None:
    with redis_server(tmp_path) as redis:
        http = await with_model.start(name=NAME, cache=CacheSettings(url=redis.url))
        a_model(with_model)
        await heard(http, QUESTION, room_id="a")
        redis.kill()
        events = await heard(http, QUESTION, room_id="b")
    assert events[-1]["references"][0]["metadatas"]["file_name"] == "lantern-3-manual.md"


@pytest.mark.conforms("chat-core", "11.1", "MongoDB error: 500")
@pytest.mark.conforms("chat-core", "11.2", "Error before streaming: type, content, detail")
@pytest.mark.parametrize("asked", [True, False], ids=["meanwhile", "before the first question"])
async def test_given_mongodb_is_gone_then_500_before_the_stream(
    with_model: Server, tmp_path: Path, asked: bool
) -> None:
    with mongo_server(tmp_path) as mongo:
        http = await with_model.start(
            name=NAME, conversation=ConversationSettings(url=SecretStr(mongo.url))
        )
        if asked:
            assert (await heard(http, QUESTION))[-1]["type"] == "done"
        mongo.kill()
        body = {"query": QUESTION, "room_id": "r", "user_id": "u"}
        response = await http.post("/v2/rag/query", json=body)
    assert response.status_code == 500
    assert response.json() == {
        "type": "error",
        "content": "A server error occurred: The conversation cannot be read now. Try again soon.",
        "detail": "state_unavailable",
    }


@pytest.mark.conforms(
    "chat-core", "4.3", "A forbidden question: no search, the notice as the answer"
)
@pytest.mark.conforms("chat-core", "7.2", "forbidden_guidance is sent")
@pytest.mark.conforms("chat-core", "14.1", "Sensitive questions are blocked")
async def test_given_a_forbidden_question_then_the_notice_and_no_search(
    with_model: Server,
) -> None:
    http, model = await with_model.start(name=NAME), a_model(with_model)
    headers = {"authorization": "Bearer token"}
    topic = {"topics": [{"term": "salary"}]}
    put = await http.post("/api/v1/topics", json=topic, headers=headers)
    assert put.status_code == 200, put.text
    events = await heard(http, "How much is the salary of Mei Tanaka?")
    assert "is not answered here" in events[-1]["final_response"]
    assert "Searching for relevant documents..." not in said(events, "step")
    assert not prompts(model)
