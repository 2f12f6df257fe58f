"""A small Service without retrieval: scripted answers, real errors, and a record of calls."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from fastapi import FastAPI

from ragstone.access.interceptor import Interceptor
from ragstone.access.setup import make_interceptor
from ragstone.core.answer import Citation, CitedSpan, GeneratedAnswer, Marker, Statement, Usage
from ragstone.core.conversation import ConversationKey
from ragstone.core.errors import (
    Busy,
    Conflict,
    EmptyQuestion,
    IndexUnavailable,
    InputError,
    ModelUnavailable,
    QuestionBlocked,
    QuestionTooLong,
    RagstoneError,
    StageTimeout,
    StateUnavailable,
    UnknownCollection,
    UnknownDocument,
    UnknownEntity,
    UnknownFolder,
    UnknownModel,
    UnknownPicture,
    UnknownTopic,
    UnknownTrace,
)
from ragstone.core.events import (
    Done,
    Event,
    Failed,
    Note,
    Rewritten,
    Sources,
    StageEnded,
    StageStarted,
    Thinking,
    Token,
)
from ragstone.core.filters import Scalar
from ragstone.core.records import (
    BlockedQuestion,
    By,
    Collection,
    DayUse,
    Document,
    GuardDecision,
    ModelCheck,
    QuestionTrace,
    Report,
    StageUse,
    StrategyUse,
    Topic,
    TopicMatch,
    Use,
)
from ragstone.core.tool import ToolCall
from ragstone.core.turn import Ask, Hit, Passage, Principal, SearchType, StageTrace, Turn
from ragstone.http.app import create_app
from ragstone.local.configured import Configured
from ragstone.local.keys import LocalKeys
from ragstone.local.settings import LocalSettings
from ragstone.plugins.comments.comments import CustomerComment, ToneCounts
from ragstone.plugins.comments.contract import CommentsView, CommentsWanted
from ragstone.plugins.graph.contract import (
    EntityPlace,
    GraphView,
    RelationPlace,
    ThemePlace,
    ThemeView,
)
from ragstone.plugins.graph.entities import EntityCount
from ragstone.plugins.prompts.service import LocalPrompts
from ragstone.ports import CacheFigures, PoolUse, Total, Vectors
from ragstone.service import (
    CollectionSummary,
    FileFailure,
    IngestRequest,
    Overview,
    Progress,
    SearchResult,
    StoreFigures,
)
from ragstone.service.maintenance import MaintenanceService
from ragstone.service.reading import DocumentText, DrawnPicture, Facet, FacetValue, Folder
from ragstone.service.statistics import StatisticsService
from ragstone.settings import Settings
from ragstone.telemetry.spans import Telemetry
from tests.chunks import chunk
from tests.credentials import MemoryKeys, NoPeople
from tests.fake_jobs import FakeJobs
from tests.memory_store import MemoryNames, MemorySettings, MemoryTemplates

WORDS = ("The ", "answer ", "is ", "42 ", "[1].")
MODEL = "fake-embedder"
COLLECTIONS = ("default", "chat_known", "plone")
EVIL = "Evil\x1b[31m [bold]title\u202e"


HITS = (Hit(chunk(1), 0.9, 0.8, 12.5), Hit(chunk(2, EVIL), 0.5))
PASSAGES = tuple(Passage(n, hit.chunk.text, hit) for n, hit in enumerate(HITS, 1))
STATED = {"supported": Statement(True, 0.95), "answers": Statement(True, 0.92)}
CITATION = Citation(
    1, "d1", "c1", "Guide", "/docs/1.md", 1, ("Part", "Chapter"), 12, 20, "the answer is 42", 0.9,
    spans=(CitedSpan(12, 20, 1, "the answer is 42"),),
)  # fmt: skip
TRACE = (
    StageTrace("retrieve", 0.012, "done", "hybrid", "the default"),
    StageTrace("rerank", 0.001, "done"),
)


ENDINGS = {
    "refuse": GeneratedAnswer("The documents do not say.", finish="refused"),
    "forbidden": GeneratedAnswer("Ask HR.", finish="blocked"),
    "languages": GeneratedAnswer("Größe 北京 مرحبا नमस्ते 👩‍🚀 e\u0301 \u2028 end.", finish="stop"),
}


class FakeStatistics:
    """One question of one user on one day."""

    async def use(self, tenant: str, days: int, by: By, user: str | None = None) -> list[Use]:
        return [Use("2026-01-02" if by == "day" else "ann", 3, 1, 0, 10, 20, 0.5)]

    async def traces(
        self, tenant: str, limit: int, before: float | None = None, user: str | None = None
    ) -> list[QuestionTrace]:
        return [
            QuestionTrace("one", 1.0, tenant, "ann", stages=(StageTrace("retrieve", 1, "done"),))
        ]

    async def trace(self, tenant: str, id: str, user: str | None = None) -> QuestionTrace:
        if id != "one" or user not in (None, "ann"):
            raise UnknownTrace(id)
        return (await self.traces(tenant, 1))[0]

    async def stages(self, tenant: str, days: int) -> list[StageUse]:
        return [StageUse("retrieve", 2, 1, 0.5, 0.7)]

    async def strategies(self, tenant: str, days: int) -> list[StrategyUse]:
        return [StrategyUse("bm25", 2, 0.0104, None)]


class FakeReading:
    """Has one document, and nothing below folders that are called gone."""

    async def facets(
        self, principal: Principal, collection: str, *, key: str = "", limit: int = 10
    ) -> list[Facet]:
        if collection != "default":
            raise UnknownCollection(collection)
        year = Facet("year", (FacetValue(2023, 12), FacetValue(2022, 1))[:limit], 5)
        return [item for item in (year, Facet("draft", (FacetValue(True, 1),), 1)) if not key]

    async def folders(
        self, principal: Principal, collection: str, below: str = "", limit: int = 1000
    ) -> list[Folder]:
        if collection not in COLLECTIONS:
            raise UnknownCollection(collection)
        return [] if below.strip("/") else [Folder("/docs", 2)][:limit]

    async def check_folder(self, principal: Principal, collection: str, path: str) -> None:
        if "gone" in path:
            raise UnknownFolder(path, ["/docs"])

    async def read(
        self,
        principal: Principal,
        collection: str,
        path: str,
        offset: int,
        limit: int,
        *,
        operator: bool = False,
    ) -> DocumentText:
        if path != "/docs/1.md":
            raise UnknownDocument(path)
        document = Document("d1", principal.tenant, collection, path, "Guide")
        text = "0123456789"
        return DocumentText(document, text[offset : offset + limit], offset, len(text))

    async def picture(
        self, principal: Principal, collection: str, path: str, picture: str
    ) -> DrawnPicture:
        raise UnknownPicture(path)


class FakeGraph:
    """Knows one entity, and has read all documents but one."""

    async def show(
        self, principal: Principal, collection: str, *, entity: str = "", limit: int = 20
    ) -> GraphView:
        if collection != "default":
            raise UnknownCollection(collection)
        named = (EntityCount("bergen", "Bergen", 3), EntityCount("oslo", "Oslo", 1))[:limit]
        if not entity:
            return GraphView("", named, 1)
        if entity != "ada":
            raise UnknownEntity(entity)
        place = EntityPlace(
            *("c1", "/docs/1.md", "Guide", 7, "d1", 0, 20, "Ada\x1b[31m", "name", "Ada slept.")
        )
        at = ("c1", "/docs/1.md", "Guide", 7, "d1", 0, 20)
        told = RelationPlace("Ada", "Bergen", "sleeps in\x1b[31m", *at)
        summary = "Ada\x1b[31m slept."
        theme = ThemeView("t1", "Ada, Bergen", summary, "", 4, named, (ThemePlace(*at, "Ada"),))
        return GraphView("Ada", named, 0, ("A. Thornbury",), (place,), (told,), (theme,))


class FakeComments:
    """Has one comment, of a collection or on an answer."""

    def __init__(self) -> None:
        self.wanted: list[CommentsWanted] = []

    async def show(
        self, principal: Principal, collection: str, wanted: CommentsWanted
    ) -> CommentsView:
        if collection != "default":
            raise UnknownCollection(collection)
        return await self.of_answers(principal.tenant, wanted)

    async def of_answers(self, tenant: str, wanted: CommentsWanted) -> CommentsView:
        self.wanted.append(wanted)
        if wanted.since == "May":
            raise InputError("since is 'May'; a day is given as YYYY-MM-DD.")
        one = CustomerComment(
            "1", "Too\x1b[31m slow", "row", "c1", "d1", "/r.csv", "r", "2024-05-01"
        )
        counts = ToneCounts("", 1, negative=1)
        return CommentsView(
            counts, counts, (), (), {"Product": (ToneCounts("Echo", 1, 1),)}, (one,)
        )


class FakeConversations:
    """Counts the letters of a room's name as tokens."""

    async def tokens(self, conversation: ConversationKey, search_type: SearchType) -> int:
        return len(conversation.room)


BREAKS: dict[str, RagstoneError] = {
    "no index": IndexUnavailable("The index does not answer."),
    "too slow": StageTimeout("retrieve", 10),
    "too many": Busy("Everyone asks at once.", retry_after=7),
}


@dataclass
class FakeService:
    """Questions choose what happens: ENDINGS, 'broken', 'breaks later', 'endless', 'think'."""

    closed: list[str] = field(default_factory=list)
    asked: list[Ask] = field(default_factory=list)
    searched: list[Ask] = field(default_factory=list)
    ingested: list[IngestRequest] = field(default_factory=list)
    ingest_error: RagstoneError | None = None
    deleted: list[tuple[str, tuple[str, ...] | None]] = field(default_factory=list)
    renamed: list[tuple[str, str, str]] = field(default_factory=list)
    jobs: Any = field(default_factory=FakeJobs)
    forbidden: dict[str, Topic] = field(default_factory=dict)
    yielded: int = 0
    conversations: FakeConversations = field(default_factory=FakeConversations)
    reading: FakeReading = field(default_factory=FakeReading)
    graph: FakeGraph = field(default_factory=FakeGraph)
    comments: FakeComments = field(default_factory=FakeComments)
    settings: LocalSettings = field(
        default_factory=lambda: LocalSettings(
            MemorySettings(), MemoryNames(), Configured(Settings())
        )
    )
    prompts: LocalPrompts = field(default_factory=lambda: LocalPrompts(MemoryTemplates(), {}))
    keys: LocalKeys = field(default_factory=lambda: LocalKeys(MemoryKeys(), MemoryNames()))
    people: Any = field(default_factory=NoPeople)
    interceptor: Interceptor = field(default_factory=Interceptor)
    has_site: bool = False
    health: dict[str, str] = field(
        default_factory=lambda: {"index": "ok", "state": "ok", "models": "ok"}
    )

    def forget(self) -> None:
        """Forget what was asked before, for tests that share an application: making one takes
        longer than most tests."""
        for told in (self.closed, self.asked, self.searched, self.ingested, self.deleted):
            told.clear()
        self.renamed.clear()
        self.forbidden.clear()
        self.yielded = 0

    @property
    def statistics(self) -> StatisticsService:
        return FakeStatistics()

    @property
    def maintenance(self) -> MaintenanceService:
        raise NotImplementedError

    async def function_calling(self, ask: Ask) -> Turn:
        """Calls the first tool that is offered; answers where there is none."""
        self.asked.append(ask)
        turn = Turn(ask, hits=HITS, passages=PASSAGES, usage=Usage(7, 5, 1))
        if not ask.tools:
            markers = (Marker(17, 20, 1, CITATION),)
            answer = GeneratedAnswer(
                "The answer is 42 [1].", (CITATION,), "stop", "fake", markers=markers
            )
            return replace(turn, answer=answer)
        call = ToolCall("c1", ask.tools[0].name, '{"city":"Ost"}')
        return replace(turn, answer=GeneratedAnswer(model="fake", calls=(call,)))

    def ask(self, ask: Ask, key: str = "", after: int = 0) -> AsyncGenerator[Event, None]:
        return self.interceptor.question(ask, self._asked(ask))

    async def _asked(self, ask: Ask) -> AsyncGenerator[Event, None]:
        self.asked.append(ask)
        try:
            async for event in self._events(ask):
                self.yielded += 1
                yield event
        finally:
            await asyncio.sleep(0)  # A clean-up that awaits must be allowed to.
            self.closed.append(ask.question)

    async def _events(self, ask: Ask) -> AsyncIterator[Event]:
        check(ask)
        turn = Turn(ask, hits=HITS, passages=PASSAGES, trace=TRACE, usage=Usage(7, 5, 1, 0.5))
        yield StageStarted("retrieve")
        yield StageEnded(TRACE[0])
        async for event in self._found(ask, turn):
            yield event
            if isinstance(event, Done | Failed):
                return
        if ask.question == "think":
            yield Thinking("hm")
        if ask.question in ENDINGS:
            answer = ENDINGS[ask.question]
            yield Token(answer.text)
            yield Done(replace(turn, answer=answer))
            return
        yield Note("generate", "A note.")
        while ask.question == "endless":
            yield Token("x" * 1000)
            await asyncio.sleep(0)
        if ask.question == "silent":
            await asyncio.sleep(3600)
        for word in WORDS:
            yield Token(word)
            if ask.question == "breaks later":
                yield Failed(ModelUnavailable("The model went away."), turn)
                return
            if ask.question == "slow":
                await asyncio.sleep(0.1)
        text = "".join(WORDS)
        markers = (Marker(text.index("[1]"), text.index("[1]") + 3, 1, CITATION),)
        answer = GeneratedAnswer(
            text,
            (CITATION,),
            "stop",
            "fake",
            0.88,
            # Only the document of V5 prints the answer of a check.
            is_grounded=True if ask.profile == "chats" else None,
            markers=markers,
            supported=STATED["supported"],
            answers=STATED["answers"],
        )
        yield Done(replace(turn, answer=answer))

    async def _found(self, ask: Ask, turn: Turn) -> AsyncIterator[Event]:
        """What comes before the answer, which may be the end."""
        if ask.question in BREAKS:
            yield Failed(BREAKS[ask.question], turn)
            return
        yield Rewritten(f"standalone {ask.question}", (ask.question,))
        if ask.question == "nothing":
            yield Sources(())
            yield Token("Nothing.")
            answer = GeneratedAnswer("Nothing.", finish="refused", model="fake")
            yield Done(replace(turn, hits=(), passages=(), answer=answer))
            return
        yield Sources(PASSAGES)
        if ask.question == "broken":
            yield Failed(ModelUnavailable("The model does not answer."), turn)
        if ask.question == "bug":
            raise ZeroDivisionError("secret detail")

    async def search(self, ask: Ask) -> SearchResult:
        self.searched.append(ask)
        check(ask)
        if ask.question == "forbidden":
            raise QuestionBlocked("Ask HR.")
        return SearchResult(HITS[: ask.top_k], TRACE)

    async def ingest(self, request: IngestRequest) -> AsyncGenerator[Progress, None]:
        if self.ingest_error:
            raise self.ingest_error
        self.ingested.append(request)
        progress = Progress("j1", total=2)
        yield progress
        yield replace(progress, files=1, indexed=1, chunks=10, seconds=1.0, eta=1.0)
        failed = tuple(
            FileFailure(path, "It is broken\x1b[2J.") for path in request.paths if "bad" in path
        )
        yield replace(
            progress, phase="done", files=2, indexed=2, failed=failed, chunks=20, finished=True
        )

    async def rebuild(self, tenant: str, collection: str) -> AsyncGenerator[Progress, None]:
        if collection != "default":
            raise UnknownCollection(collection)
        yield Progress("j2", "embedding", chunks=10)
        yield Progress("j2", "done", chunks=10, embedded=10, finished=True)

    async def collections(
        self, principal: Principal, *, operator: bool = False
    ) -> list[CollectionSummary]:
        collection = Collection(principal.tenant, "default", MODEL, "f1", 4, "en", id="c1")
        plone = Collection(principal.tenant, "plone", MODEL, "f1", 1024, "en", id="c2")
        known = [CollectionSummary(collection, 2, 20, 0, 0)]
        return [*known, CollectionSummary(plone, 150, 1250, 0, 0)] if self.has_site else known

    async def collection(self, principal: Principal, collection: str) -> CollectionSummary:
        for summary in await self.collections(principal):
            if summary.name == collection:
                return summary
        raise UnknownCollection(collection)

    async def documents(
        self,
        principal: Principal,
        collection: str,
        *,
        limit: int = 1000,
        offset: int = 0,
        after: str = "",
        named: Sequence[str] | None = None,
        below: str = "",
        having: Mapping[str, Scalar] | None = None,
        operator: bool = False,
    ) -> list[Document]:
        if collection not in COLLECTIONS:
            raise UnknownCollection(collection)
        found = [
            Document(f"d{n}", principal.tenant, collection, f"/docs/{n}.md", EVIL, chunks=10)
            for n in (1, 2)
        ]
        if named is not None:
            found = [item for item in found if {item.id, item.path} & set(named)]
        found = [item for item in found if item.path > after]
        return found[offset : offset + limit]

    async def rename_collection(self, principal: Principal, old: str, new: str) -> Collection:
        if old not in COLLECTIONS:
            raise UnknownCollection(old)
        if new in COLLECTIONS:
            raise Conflict(f"There is a collection named {new!r} already. Choose another name.")
        self.renamed.append((principal.tenant, old, new))
        return Collection(principal.tenant, new, MODEL, "f1", 4, "en", id="c1")

    async def delete(
        self,
        principal: Principal,
        collection: str,
        paths: Sequence[str] | None = None,
        *,
        operator: bool = False,
    ) -> int:
        if paths and "/nowhere" in paths:
            raise UnknownDocument("/nowhere")
        self.deleted.append((collection, None if paths is None else tuple(paths)))
        return 2 if paths is None else len(paths)

    async def embed(self, texts: Sequence[str], model: str = "") -> tuple[str, Vectors]:
        if model not in ("", MODEL):
            raise UnknownModel(f"There is no embedding model {model!r}; use {MODEL}.")
        vectors = [[float(len(text)), 0.5, 0.25, 1.0] for text in texts]
        return MODEL, np.array(vectors, dtype=np.float32)

    async def topics(self, tenant: str) -> list[Topic]:
        return [topic for topic in self.forbidden.values() if topic.tenant == tenant]

    async def put_topics(self, tenant: str, topics: Sequence[Topic]) -> int:
        before = len(self.forbidden)
        self.forbidden.update({topic.id: topic for topic in topics})
        return len(self.forbidden) - before

    async def remove_topics(self, tenant: str, terms: Sequence[str]) -> int:
        known = {topic.term: topic.id for topic in self.forbidden.values()}
        for term in terms:
            if term not in known:
                raise UnknownTopic(term)
            del self.forbidden[known[term]]
        return len(terms)

    async def list_blocked(self, tenant: str, limit: int) -> list[BlockedQuestion]:
        found = BlockedQuestion(
            1.5, tenant, "eva", "Who?" + EVIL, "t1", "who", "exact", 1.0, "rules"
        )
        return [found] * min(limit, 2)

    async def check_topics(self, tenant: str, question: str) -> GuardDecision:
        for topic in self.forbidden.values():
            if topic.term in question:
                return GuardDecision(
                    True, "inquiry", "rules", TopicMatch(topic, "exact", 1.0, (0, 3))
                )
        return GuardDecision(False)

    async def cache_figures(self) -> CacheFigures:
        return CacheFigures("memory", True, 3, 2, 1, 4.5)

    async def store_figures(self) -> StoreFigures:
        if self.health["state"] != "ok":
            raise StateUnavailable(self.health["state"])
        return StoreFigures((Total("ready", 3, 40), Total("failed", 1, 0)), self.pools())

    def pools(self) -> tuple[PoolUse, ...]:
        return (PoolUse("state", 2, 8, 1),)

    async def clear_cache(self) -> int:
        return 3

    async def rebuild_cache(self) -> int:
        return 1

    async def models(self) -> dict[str, str]:
        return {MODEL: "embedding"}

    async def check_models(self) -> AsyncGenerator[ModelCheck, None]:
        yield ModelCheck("fake", "reached", "ok", "It answers.")

    async def overview(self) -> Overview:
        jobs = (Progress("j0", files=1),)
        models = {MODEL: "embedding", "fake": "answers"}
        return Overview("0.1", "/data", None, 1, 2, 20, 0, "fake", models, jobs, 1234)

    async def report(self, principal: Principal, days: int) -> Report:
        if principal.tenant != "default":
            return Report((), ())
        day = DayUse("2026-01-02", days, 1, 2, 100, 10, 0.0123)
        uses = (StrategyUse("bm25", 2, 0.0104, None), StrategyUse("hybrid", 5, 0.25, 0.8))
        return Report((day,), uses)

    async def ready(self) -> dict[str, str]:
        return self.health

    async def start_jobs(self) -> None: ...

    async def aclose(self) -> None: ...


def limited_app(
    service: FakeService, settings: Settings, telemetry: Telemetry | None = None
) -> FastAPI:
    """The application on a fake whose questions have the limits of the settings."""
    service.interceptor = make_interceptor(settings, telemetry)
    return create_app(service, settings, "token", service.interceptor)


def check(ask: Ask) -> None:
    """The refusals of the real service."""
    if not ask.question.strip():
        raise EmptyQuestion
    if len(ask.question) > 20_000:
        raise QuestionTooLong(len(ask.question), 20_000)
    if ask.collection not in COLLECTIONS:
        raise UnknownCollection(ask.collection)
    if ask.question == "root":
        raise RagstoneError("The root of all errors.")
