"""Every extension point takes what a package adds, and goes on without what is broken."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr
from typer.testing import CliRunner

from ragstone.build import open_adapters
from ragstone.cli import app
from ragstone.core.errors import ConfigError, TooLarge, UnreadableDocument, WrongType
from ragstone.http.app import create_app
from ragstone.index.connect import connect, external_retriever
from ragstone.ingest.files import FoundFile, discover
from ragstone.ingest.formats.types import find_ending
from ragstone.ingest.parse import parse
from ragstone.models.configured_chat import chat_model
from ragstone.models.embedders import ConfiguredEmbedders
from ragstone.plugins.agent.tool_calls import built_in_tools
from ragstone.recipes.recipe import Recipes
from ragstone.recipes.stages import OURS, STAGES
from ragstone.settings import (
    AuthSettings,
    DialectSettings,
    EmbeddingSettings,
    IndexSettings,
    IngestSettings,
    LlmSettings,
    RerankSettings,
    Settings,
    load,
)
from tests.fake_service import FakeService
from tests.packages import Site, site

__all__ = ["site"]

FORMAT = """
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.types import Format

def parse(path, ending, max_bytes):
    return Parsed("", iter([Block(path.read_text(errors="replace"))]))

GOOD = Format("text/x-good", parse)
WHOLE = Format("text/x-whole", parse, whole=True)
PACKED = Format("application/x-packed", parse, magic=b"PACK")
WRONG = Format("text/x-wrong", lambda path: None)
NOTHING = Format("text/x-nothing", lambda path, ending, max_bytes: None)
HALF = Format("text/x-half", lambda path, ending, max_bytes: Parsed("", iter([Block("a"), 3])))
TEXT = "no format"
"""


@pytest.fixture
def formats(site: Site) -> None:
    names = ("good", "whole", "packed", "wrong", "nothing", "half", "text")
    points = {f"x{name}": f"added_format:{name.upper()}" for name in names}
    site.add("added-format", {"ragstone.formats": points}, added_format=FORMAT)


def written(folder: Path, name: str, data: bytes = b"Some words.") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.usefixtures("formats")
def test_given_a_format_then_its_files_are_found_and_read(tmp_path: Path) -> None:
    file = written(tmp_path, "a.XGOOD")
    parsed = parse(file, IngestSettings())
    assert [block.text for block in parsed.blocks] == ["Some words."]
    assert (parsed.title, parsed.media_type) == ("a", "text/x-good")
    written(tmp_path, "b.unknown")
    found = [item for item in discover([tmp_path]) if isinstance(item, FoundFile)]
    found = [item for item in found if item.source.parent == tmp_path]
    assert [item.source.name for item in found] == ["a.XGOOD"]
    assert find_ending("text/x-good") == ".xgood"


@pytest.mark.usefixtures("formats")
def test_given_a_format_then_the_limits_of_ours_hold_for_it(tmp_path: Path) -> None:
    big = b"x" * (2 << 20)
    settings = IngestSettings(max_file_mb=4)
    assert parse(written(tmp_path, "a.xgood", big), settings)
    with pytest.raises(TooLarge, match="a quarter of INGEST__MAX_FILE_MB"):
        parse(written(tmp_path, "a.xwhole", big), settings)
    with pytest.raises(TooLarge, match="INGEST__MAX_FILE_MB"):
        parse(written(tmp_path, "b.xgood", 3 * big), settings)


@pytest.mark.usefixtures("formats")
def test_given_a_format_then_its_content_must_be_of_it(tmp_path: Path) -> None:
    assert parse(written(tmp_path, "a.xpacked", b"PACK and more"), IngestSettings())
    for name, data in (
        ("b.xpacked", b"no pack"),
        ("c.xpacked", b"PK\x03\x04"),
        ("a.xgood", gzip.compress(b"text")),
    ):
        with pytest.raises(WrongType, match="by its content"):
            parse(written(tmp_path, name, data), IngestSettings())


@pytest.mark.usefixtures("formats")
def test_given_a_broken_format_then_only_its_files_fail(tmp_path: Path) -> None:
    for name, said in (
        ("xtext", "str is not of the type Format"),
        ("xwrong", "takes 1 positional argument but 3 were given"),
        ("xnothing", "NoneType instead of Parsed"),
        ("xhalf", "'int' object has no attribute 'text'"),
    ):
        with pytest.raises(UnreadableDocument, match=said) as raised:
            list(parse(written(tmp_path, f"a.{name}"), IngestSettings()).blocks)
        assert f"The file format '{name}' of added-format 1.0 cannot" in raised.value.message
    assert parse(written(tmp_path, "a.txt"), IngestSettings())


SERVICES = """
from ragstone.index.edge.index import EdgeIndex

class Elsewhere:
    def __init__(self, settings):
        self.url = settings.url
    async def search(self, ask, plan):
        return []
    async def ready(self):
        return None

    async def aclose(self):
        pass

def index(settings, data):
    return EdgeIndex(data / "elsewhere")

def half(settings, data):
    return object()
"""


def test_given_indexes_and_services_then_the_address_chooses_them(
    site: Site, tmp_path: Path
) -> None:
    points = {
        "ragstone.indexes": {"elsewhere": "services:index", "half": "services:half"},
        "ragstone.retrievers": {"library": "services:Elsewhere"},
    }
    site.add("services-package", points, services=SERVICES)
    assert connect(IndexSettings(url="elsewhere://x"), tmp_path)
    retriever: Any = external_retriever(IndexSettings(url="library+https://x"))
    assert retriever.url == "library+https://x"
    assert external_retriever(IndexSettings(url="elsewhere://x")) is None
    with pytest.raises(ConfigError, match=r"'half' of services-package .* has no aclose"):
        connect(IndexSettings(url="half://x"), tmp_path)
    with pytest.raises(ConfigError, match=r"elsewhere://.*library\+http://"):
        connect(IndexSettings(url="ftp://x"), tmp_path)


MODELS = """
import numpy as np
from ragstone.ports import Judgement, Profile

class Embedder:
    name, fingerprint, dimensions = "added", "added/1", 2
    cosines, multilingual = (0.0, 1.0), False
    opened = closed = 0
    async def embed_passages(self, texts): return np.ones((len(texts), 2), np.float32)
    embed_queries = embed_passages
    async def connect(self): self.opened += 1
    async def aclose(self): self.closed += 1

def embedder(settings): return Embedder()
def no_embedder(settings): return 3

class Reranker:
    name = "added"
    def __init__(self, parts): self.weight = 0.25
    async def judge(self, collection, question, chunks, encoded=None):
        return Judgement(np.ones(len(chunks)), self.weight)
    async def aclose(self): pass

class Chat:
    profile = Profile()
    def __init__(self, settings, section, standby):
        self.name, self.section = settings.model, section
    async def answer(self, ask, passages, instructions): yield
    async def converse(self, ask, rules): yield
    async def complete(self, rules, text, max_tokens, temperature=0.0): pass
    async def ready(self): pass
    async def aclose(self): pass
"""


@pytest.fixture
def models(site: Site) -> None:
    points = {
        "ragstone.embedders": {"added": "added_models:embedder", "bad": "added_models:no_embedder"},
        "ragstone.rerankers": {"added": "added_models:Reranker", "bad": "added_models:gone"},
        "ragstone.chat_models": {"added": "added_models:Chat", "openai": "added_models:Chat"},
    }
    site.add("added-models", points, added_models=MODELS)


@pytest.mark.usefixtures("models")
async def test_given_an_embedder_then_it_is_opened_used_and_closed() -> None:
    embedders = ConfiguredEmbedders(EmbeddingSettings(model="added"))
    embedder: Any = embedders.choose("de")
    await embedders.connect()
    await embedders.aclose()
    assert (embedder.name, embedder.opened, embedder.closed) == ("added", 1, 1)
    assert embedders.english().name == "all-MiniLM-L6-v2"
    with pytest.raises(ConfigError, match=r"'bad' of added-models 1\.0 .*int has no cosines"):
        ConfiguredEmbedders(EmbeddingSettings(model="bad"))


@pytest.mark.usefixtures("models")
async def test_given_a_reranker_then_the_settings_choose_it(tmp_path: Path) -> None:
    rerank = RerankSettings(model="added")
    async with open_adapters(Settings(ragstone_data=tmp_path, rerank=rerank)) as (adapters, _, _):
        assert (adapters.reranker.name, adapters.reranker.weight) == ("added", 0.25)  # type: ignore[attr-defined]
    bad = Settings(ragstone_data=tmp_path, rerank=RerankSettings(model="bad"))
    with pytest.raises(ConfigError, match=r"reranker 'bad' of added-models 1\.0 cannot be used"):
        async with open_adapters(bad):
            pass


@pytest.mark.usefixtures("models")
def test_given_a_chat_model_then_what_stands_before_the_colon_chooses_it() -> None:
    made: Any = chat_model(Settings(llm=LlmSettings(model="added:large")))
    assert (made.name, made.section) == ("added:large", "LLM")
    for llm in (
        LlmSettings(model="added:large", base_url="http://127.0.0.1:9/v1"),
        LlmSettings(model="openai:gpt", api_key="k"),  # type: ignore[arg-type]
    ):
        ours = chat_model(Settings(llm=llm))
        assert type(ours).__module__ == "ragstone.models.chat"


DIALECT = """
from fastapi import APIRouter
from ragstone.http.identity import Who

def router(parts):
    routes = APIRouter()
    @routes.get("/added")
    async def added(caller: Who):
        return {"user": caller.principal.user}
    @routes.get("/health")
    async def health():
        return {"status": "stolen"}
    return routes

def broken():
    return APIRouter()
"""


@pytest.fixture
def dialect(site: Site) -> None:
    points = {"added": "added_dialect:router", "broken": "added_dialect:broken"}
    site.add("added-dialect", {"ragstone.dialects": points}, added_dialect=DIALECT)


@pytest.mark.usefixtures("dialect")
def test_given_a_dialect_then_it_answers_behind_the_guards_and_takes_no_address_of_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret = "a secret of the proxy, long enough"
    settings = Settings(auth=AuthSettings(required=True, proxy_secret=SecretStr(secret)))
    http = TestClient(create_app(FakeService(), settings, "t"), "http://127.0.0.1")
    assert http.get("/added").status_code == 401
    assert http.get("/added", headers={"Authorization": "Bearer wrong"}).status_code == 401
    ann = {"x-proxy-secret": secret, "x-forwarded-user": "ann"}
    known = http.get("/added", headers=ann)
    assert (known.status_code, known.json()) == (200, {"user": "ann"})
    assert http.get("/health").json() != {"status": "stolen"}
    assert [r.message for r in caplog.records if "added-dialect" in r.message] == [
        "The dialect 'broken' of added-dialect 1.0 cannot be used: TypeError: broken() takes 0 "
        "positional arguments but 1 was given. The server goes on without it."
    ]


@pytest.mark.usefixtures("dialect")
def test_given_a_dialect_then_it_has_a_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIALECTS__OFF", "added")
    http = TestClient(create_app(FakeService(), load(), "t"), "http://127.0.0.1")
    assert http.get("/added").status_code == 404
    gone = Settings(dialects=DialectSettings(off=("gone",)))
    with pytest.raises(ConfigError, match="There is no dialect 'gone'"):
        create_app(FakeService(), gone, "t")


STAGE = """
from ragstone.engine.stage import Stage, Step
from ragstone.recipes.stages import AddedStage
from typing import ClassVar

class Added(Stage):
    name: ClassVar[str] = "added"
    factor: float = 2.0
    async def run(self, turn, adapters, emit):
        return Step(turn, f"{self.factor}")

class Short(Added):
    name: ClassVar[str] = "short"
    async def run(self, turn):
        return Step(turn)

class Needing(Added):
    name: ClassVar[str] = "needing"
    factor: float

AFTER = AddedStage(Added, after="rerank")
BEFORE = AddedStage(Added, before="rerank")
NOWHERE = AddedStage(Added, after="nothing")
BOTH = AddedStage(Added, after="rerank", before="cite")
SHORT = AddedStage(Short, after="rerank")
NEEDING = AddedStage(Needing, after="rerank")
"""


def add_stage(site: Site, name: str, target: str) -> None:
    points = {"ragstone.stages": {name: f"added_stage:{target}"}}
    site.add("added-stage", points, added_stage=STAGE)


@pytest.mark.parametrize(("target", "order"), [("AFTER", [0, 1]), ("BEFORE", [1, 0])])
def test_given_a_stage_then_it_has_its_place_and_its_options(
    site: Site, target: str, order: list[int]
) -> None:
    add_stage(site, "added", target)
    made = Recipes(Settings(stages={"added": {"factor": 3.0}}))
    stages = made.of("plain", "standard").stages
    names = [stage.name for stage in stages]
    here = names.index("rerank")
    assert names.index("added") - here == (1 if order == [0, 1] else -1)
    assert stages[names.index("added")].factor == 3.0  # type: ignore[attr-defined]
    judged = made.of("judged", "maximum").stages
    [rounds] = [stage for stage in judged if stage.name == "rounds"]
    assert "added" in [stage.name for stage in rounds.inner]


@pytest.mark.parametrize(
    ("name", "target", "said"),
    [
        ("added", "NOWHERE", "it has no place"),
        ("added", "BOTH", "it has no place"),
        ("other", "AFTER", "its class has the name 'added'"),
        ("short", "SHORT", "TypeError"),
        ("needing", "NEEDING", "factor"),
        ("added", "Added", "Added is not of the type AddedStage"),
        ("rerank", "AFTER", "ragstone has one of that name"),
    ],
)
def test_given_a_broken_stage_then_no_question_is_answered_without_it(
    site: Site, name: str, target: str, said: str
) -> None:
    add_stage(site, name, target)
    with pytest.raises(ConfigError, match=said) as raised:
        Recipes(Settings()).of("plain", "standard")
    assert f"The stage {name!r} of added-stage 1.0" in raised.value.message


def test_given_a_stage_then_answers_from_before_it_are_not_recalled(site: Site) -> None:
    def recalled() -> str:
        stages = Recipes(Settings()).of("plain", "standard").stages
        [recall] = [stage for stage in stages if stage.name == "recall"]
        return str(recall.recipe)  # type: ignore[attr-defined]

    before = recalled()
    assert recalled() == before
    add_stage(site, "added", "AFTER")
    assert recalled() != before


def test_the_table_of_stages_has_every_stage_of_the_recipes() -> None:
    added = {"add_related", "ask_comments", "tables", "traverse"}
    added |= {"check_quota", "count_quota", "cut_short", "give_verified", "tool_agent"}
    assert set(STAGES.ours) - {item.name for item in OURS} == added
    every = Recipes(Settings()).every()
    known = {stage.name for item in every for stage in (*item.stages, *item.tail)}
    assert known <= set(STAGES.ours)


MEASURE = """
async def lines(file, settings, limit):
    '''How many lines there are. And no more.'''
    return {"lines": len(file.read_text().splitlines()[:limit]), "none": None}

async def few(file):
    return {}

async def texts(file, settings, limit):
    return {"lines": "many"}
"""


def test_given_a_measure_then_it_is_a_command_and_a_broken_one_says_whose_it_is(
    site: Site, tmp_path: Path
) -> None:
    names = {name: f"added_measure:{name}" for name in ("lines", "few", "texts", "gone")}
    site.add("added-measure", {"ragstone.measures": names}, added_measure=MEASURE)
    file = written(tmp_path, "a.txt", b"a\nb\nc\n")
    runner = CliRunner()
    assert runner.invoke(app, ["eval", "lines", str(file)]).stdout == "lines  3\nnone   -\n"
    limited = runner.invoke(app, ["eval", "lines", str(file), "--limit", "2", "--json"])
    assert limited.stdout == '{"lines": 2.0, "none": null}\n'
    assert "added-measure 1.0" in runner.invoke(app, ["eval", "--help"]).stdout
    for name in ("few", "texts", "gone"):
        broken = runner.invoke(app, ["eval", name, str(file)])
        assert isinstance(broken.exception, ConfigError)
        assert f"The measure {name!r} of added-measure 1.0 cannot be used" in str(broken.exception)
    assert runner.invoke(app, ["eval", "nothing", str(file)]).exit_code == 2


def test_a_broken_tool_of_a_package_costs_a_line_and_no_answer(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    before = [item.tool.name for item in built_in_tools()]
    site.add("bad", {"ragstone.tools": {"bad": "nowhere:Bad"}})
    assert [item.tool.name for item in built_in_tools()] == before
    assert "The tool 'bad' of bad 1.0 cannot be used" in caplog.text
