"""Every setting of the pipeline document's tables changes its answers while the server runs."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.documents import copied
from tests.http.conftest import QUESTION, Server
from tests.http.effects import ROOM, Case, Json, Part, World, prompts, ranking
from tests.http.test_effects_chat_core import FOLLOW_UP, OTHER
from tests.model_server import model_server
from tests.recipes.test_setting_table import PRINTED

pytestmark = pytest.mark.slow

PATH = "/api/v1/chat/completions"
MODERATE = {"message": "How long does the lamp last, and how does its charging depend on the sun?"}
LISTED = {"message": "Which rules hold for hotel rooms in Oslo and for a lamp at night?"}
NAMED = {"message": "Compare HJ-2 with WS-10."}
REPEATED = {"message": QUESTION}
IN_ROOM = {"session_id": ROOM}
SAID = {"message": QUESTION, **IN_ROOM}
LEANING = {"message": FOLLOW_UP, **IN_ROOM}
TEN_OTHERS = [{"message": f"{OTHER} And in {2000 + n}?"} for n in range(10)]

SETTINGS: dict[str, tuple[Any, Part, Json, list[Json]]] = {
    "rag.top_k": (2, ranking, MODERATE, []),
    "rag.similarity_threshold": (0.1, ranking, MODERATE, []),
    "rag.use_hybrid_search": (False, ranking, NAMED, []),
    "rag.query_expansion_enabled": (True, prompts, MODERATE, []),
    "rag.hyde_enabled": (True, prompts, {"message": "battery life"}, []),
    "rag.knowledge_graph_enabled": (True, ranking, LISTED, []),
    "rag.verification_enabled": (False, ranking, MODERATE, []),
    "rag.rrf_k": (1, ranking, LISTED, []),
    "cache.enabled": (False, prompts, REPEATED, [REPEATED]),
    "cache.max_entries": (10, prompts, REPEATED, [REPEATED, *TEN_OTHERS]),
    "cache.default_ttl_seconds": (0.001, prompts, REPEATED, [REPEATED]),
    "cache.threshold_mode": (
        "precision",
        prompts,
        {"message": "Please tell me how long a full battery charge lasts without the sun."},
        [REPEATED],
    ),
    "conversation.query_rewriting_enabled": (False, prompts, LEANING, [SAID]),
    "conversation.max_history_turns": (
        1,
        prompts,
        LEANING,
        [SAID, {"message": OTHER, **IN_ROOM}],
    ),
}
"""Another value of each setting, what it changes of the answer to a request, and the requests
before that."""


@pytest.mark.conforms("Query pipeline", "Settings", "Every setting changes answers at run time")
async def test_given_another_value_at_run_time_then_another_answer_until_it_is_unset(
    world: World, subtests: pytest.Subtests
) -> None:
    assert {*SETTINGS, "conversation.db_rehydration_enabled"} == set(PRINTED)
    for key, (value, part, request, before) in SETTINGS.items():
        item = Case(key, {}, {}, part, before=before)
        with subtests.test(setting=key):
            usual = part(await world.see(f"POST {PATH}", request, item))
            await world.set(key, value)
            changed = part(await world.see(f"POST {PATH}", request, item))
            await world.unset(key)
            assert changed != usual
            assert part(await world.see(f"POST {PATH}", request, item)) == usual


@pytest.mark.conforms("Query pipeline", "Settings", "conversation.db_rehydration_enabled")
@pytest.mark.parametrize("restores", [True, False])
async def test_given_a_restart_then_the_setting_says_whether_history_is_restored(
    tmp_path: Path, indexed_documents: Path, restores: bool
) -> None:
    copied(indexed_documents, tmp_path / "data")
    value = {"value": restores, "scope": "dialect:pipeline"}
    with model_server() as model:
        for message in (QUESTION, FOLLOW_UP):
            async with AsyncExitStack() as stack:
                server = Server(stack, tmp_path / "data")
                server.model = model
                http = await server.start()
                await http.put("/api/v1/settings/conversation.db_rehydration_enabled", json=value)
                await http.post(PATH, json={"message": message, "session_id": "r1"})
                await server.settled()
        assert (QUESTION in str(model.calls[-1])) is restores
