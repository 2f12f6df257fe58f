"""A chat model reads for the entity graph: the whole of Ragstone with a real model server beside
it."""

import asyncio
import json
from pathlib import Path

import pytest

from ragstone import build
from ragstone.core.turn import Principal
from ragstone.service import IngestRequest, Progress
from ragstone.settings import IngestSettings, LlmSettings, RagSettings, Settings
from tests.model_server import model_server

pytestmark = pytest.mark.slow

SHIP = "The ship Meridian was led by Ada Thornbury for many years.\n"
READ = [
    {
        "passage": 1,
        "entities": [{"name": "Ada Thornbury"}, {"name": "Meridian"}],
        "relations": [{"from": "Ada Thornbury", "to": "Meridian", "relation": "led"}],
    }
]


async def test_given_the_setting_then_the_chat_model_reads_and_relations_are_shown(
    tmp_path: Path,
) -> None:
    (tmp_path / "ship.txt").write_text(SHIP)
    with model_server(replies={"Ada Thornbury": json.dumps(READ)}) as model:
        settings = Settings(
            ragstone_data=tmp_path / "data",
            llm=LlmSettings(model="some", base_url=model.url, retries=0),
            ingest=IngestSettings(graph="model"),
            rag=RagSettings(knowledge_graph_enabled=True),
        )
        async with build.open(settings) as service:
            last = Progress("")
            async for last in service.ingest(IngestRequest((str(tmp_path / "ship.txt"),))):
                assert not last.error
            assert any(note.startswith("some is going to read 1 passages") for note in last.notes)
            assert any("2 entities, 1 relations" in note for note in last.notes)
            assert last.usage.calls == 1
            view = await service.graph.show(Principal(), "default", entity="Meridian")
            while view.waiting:
                await asyncio.sleep(0.05)
                view = await service.graph.show(Principal(), "default", entity="Meridian")
            [relation] = view.relations
            assert (relation.entity, relation.said, relation.other) == (
                "Ada Thornbury",
                "led",
                "Meridian",
            )
            assert relation.path == "/ship.txt"


async def test_given_no_chat_model_then_the_setting_has_no_effect_and_it_is_said(
    tmp_path: Path,
) -> None:
    (tmp_path / "ship.txt").write_text(SHIP)
    settings = Settings(
        ragstone_data=tmp_path / "data",
        ingest=IngestSettings(graph="model"),
        rag=RagSettings(knowledge_graph_enabled=True),
    )
    async with build.open(settings) as service:
        steps = [s async for s in service.ingest(IngestRequest((str(tmp_path / "ship.txt"),)))]
        assert any("INGEST__GRAPH=model has no effect" in note for note in steps[-1].notes)
        while (view := await service.graph.show(Principal(), "default")).waiting:
            await asyncio.sleep(0.05)
        assert {"Meridian", "Ada Thornbury"} <= {item.name for item in view.named}
