"""Who has no credential, where none is required, reads what is for everyone and no more."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from ragstone.core.turn import Principal
from ragstone.service import IngestRequest
from ragstone.settings import AuthSettings
from tests.attack.house import OPERATOR, House, a_house
from tests.credentials import bearer

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def public(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """A Ragstone that needs no credential, with a document that is not for everyone."""
    folder = tmp_path_factory.mktemp("public")
    async with a_house(folder, auth=AuthSettings(required=False)) as house:
        place = folder / "closed"
        place.mkdir()
        (place / "closed.md").write_text("# Closed\n\nThe closed room is called Okapi.\n")
        request = IngestRequest((str(place),), "manuals", allowed=("group:staff", "user:eva"))
        async for _ in house.service.ingest(request):
            pass
        yield house


READING = (
    ("/v1/chat/completions", {"model": "ragstone", "messages": "Q", "collection": "manuals"}),
    ("/api/v1/retrieval/retrieve", {"query": "Q", "collection": "manuals"}),
    ("/v2/rag/query", {"query": "Q", "collection_name": "manuals"}),
    ("/api/chat/completions", {"message": "Q", "collection": "manuals"}),
    ("/api/v1/rag/query", {"query": "Q", "collection": "manuals"}),
)


async def test_without_a_credential_only_what_is_for_everyone_is_read(public: House) -> None:
    for question, word, read in (
        ("What is the closed room called?", "okapi", False),
        ("What battery does the lamp have?", "40 hours", True),
    ):
        for path, wanted in READING:
            said: object = {k: question if v == "Q" else v for k, v in wanted.items()}
            if path.startswith("/v1"):
                messages = [{"role": "user", "content": question}]
                said = {**wanted, "messages": messages}
            found = await public.send({}, "POST", path, said)
            assert found.status_code in (200, 404, 422), (path, found.text)
            assert read or word not in found.text.lower(), path


CHANGING = (
    ("POST", "/api/v1/keys", {"name": "mine", "role": "admin"}),
    ("GET", "/api/v1/keys", None),
    ("GET", "/api/v1/settings", None),
    ("PUT", "/api/v1/settings", {"values": {"rag.top_k": 3}}),
    ("PUT", "/api/v1/prompts/answer", {"text": "Say yes."}),
    ("GET", "/api/v1/topics", None),
    ("POST", "/api/v1/topics", {"topics": [{"term": "x"}]}),
    ("GET", "/api/v1/traces", None),
    ("GET", "/api/v1/stats", None),
    ("POST", "/api/v1/jobs/clean", {}),
    ("PATCH", "/api/v1/collections/manuals", {"name": "mine"}),
    ("DELETE", "/chat/c1/documents", None),
    ("GET", "/api/v1/conversations", None),
    ("GET", "/api/v1/conversations?user=eva", None),
    ("POST", "/api/v1/conversations/forget", {}),
    ("POST", "/api/v1/conversations/import", []),
    ("GET", "/metrics", None),
    ("POST", "/@rag-index", {"uid": "abc"}),
)


async def test_without_a_credential_nobody_is_an_admin_or_has_anything(public: House) -> None:
    for configured in (False, True):
        for method, path, body in CHANGING:
            found = await public.send({}, method, path, body)
            assert found.status_code in (401, 403), (configured, path, found.text)
        whole = await public.key("admin", "root")
        assert (await public.send(whole, "GET", "/api/v1/keys")).status_code == 200


async def test_what_others_asked_without_a_credential_is_not_remembered(public: House) -> None:
    for _ in range(2):
        await public.ask({}, "What battery does the lamp have?", "shared")
    found = await public.send(bearer(OPERATOR), "GET", "/api/v1/traces")
    assert len(found.json()["traces"]) >= 2
    kept = await public.service._adapters.conversations.origins(Principal(user=""))
    assert kept == []


async def test_jobs_of_who_has_no_credential_are_nobodys_to_steer(public: House) -> None:
    found = await public.send({}, "GET", "/api/v1/jobs")
    assert found.json() == {"jobs": []} or found.status_code == 401
