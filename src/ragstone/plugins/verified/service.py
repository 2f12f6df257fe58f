"""Verified answers in this process."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

import numpy as np

from ragstone.access.asking import current_reader
from ragstone.conversation.reach import select_readable
from ragstone.core.clock import state_time
from ragstone.core.errors import InputError, UnknownDocument, UnknownVerified
from ragstone.core.readers import Reader, check_readers
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.language.markers import find_markers
from ragstone.local.added import ServiceParts
from ragstone.plugins.verified.contract import (
    QuestionGroup,
    ReviewedQuestion,
    SourcePlace,
    VerifiedAnswer,
    VerifiedSource,
)
from ragstone.plugins.verified.give_verified import asks_same, find_sources, find_state
from ragstone.plugins.verified.store import SqlVerified
from ragstone.ports import Adapters, Embedder, Vectors, need_collection

MIN_LIKENESS = 0.6
"""Likeness (0 for unrelated questions, 1 for equal ones) from which questions share a group: of
pairs of QQP that ask the same 99 % have more, of 1,500 that were put together at random none."""

BEGINNING = 500
"""Characters of a document that a source without a place stands for."""


class LocalVerified:
    """`VerifiedService` on the ports."""

    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters
        self._store = SqlVerified.of(adapters)

    async def list_all(self, principal: Principal, collection: str) -> list[VerifiedAnswer]:
        known = await need_collection(self._adapters.catalog, principal.tenant, collection)
        return await self._list_answers(known)

    async def put(
        self,
        principal: Principal,
        collection: str,
        text: str,
        wordings: Sequence[str],
        sources: Sequence[SourcePlace],
        *,
        readers: Sequence[str] = (),
        owner: str = "",
        expires_at: float | None = None,
        id: str = "",
    ) -> VerifiedAnswer:
        known = await need_collection(self._adapters.catalog, principal.tenant, collection)
        check_readers(readers)
        asked = tuple(dict.fromkeys(" ".join(wording.split()) for wording in wordings))
        if not text.strip() or not all(asked):
            raise InputError("Not a valid verified answer: write an answer and a question.")
        places = [await self._find_source(principal, known, place) for place in sources]
        wrong = [number for match in find_markers(text) if (number := int(match[1])) > len(places)]
        if wrong:
            raise InputError(f"The answer cites [{wrong[0]}], but has {len(places)} sources.")
        now = state_time()
        if expires_at is not None and expires_at <= now:
            raise InputError("The answer would have expired already. Choose a later time.")
        if id and id not in {item.id for item in await self._list_answers(known)}:
            raise UnknownVerified(id)
        answer = VerifiedAnswer(
            id or uuid4().hex,
            known.id,
            text.strip(),
            asked,
            tuple(places),
            owner.strip() or principal.user,
            tuple(dict.fromkeys(readers)) or ("*",),
            now,
            expires_at,
        )
        await self._store.put(principal.tenant, answer)
        return replace(answer, collection=known.name)

    async def remove(self, principal: Principal, collection: str, id: str) -> None:
        known = await need_collection(self._adapters.catalog, principal.tenant, collection)
        if not await self._store.remove(principal.tenant, known.id, id):
            raise UnknownVerified(id)

    async def review(
        self, principal: Principal, collection: str, limit: int = 500
    ) -> list[QuestionGroup]:
        known = await need_collection(self._adapters.catalog, principal.tenant, collection)
        answered = [
            wording
            for item in await self._list_answers(known)
            if item.state == "current"
            for wording in item.wordings
        ]
        embedder = self._adapters.embedders.find_indexing(known)
        found = [
            item
            for item in await self._collect(principal.tenant, known.name, limit)
            if not await asks_same(item.question, answered, embedder)
        ]
        return await group_questions(found, embedder)

    async def _collect(self, tenant: str, collection: str, limit: int) -> list[ReviewedQuestion]:
        """Return the refused and disliked questions that who asks may see, the newest first."""
        reader, traces = current_reader(), self._adapters.traces
        mine = None
        if reader != Reader():
            origins = await traces.origins(tenant)
            mine = await select_readable(origins, reader, self._adapters.catalog, tenant)
        found = [
            ReviewedQuestion(item.question, "refused", item.at)
            for item in await traces.latest(tenant, limit, None, None, mine)
            if item.collection == collection and item.finish == "refused" and item.question
        ]
        # An opinion does not say what the answer was made from, so it is not for parts.
        if reader.collections is None:
            found += [
                ReviewedQuestion(item.question, "disliked", item.at, item.answer, item.comment)
                for item in await self._adapters.feedback.latest(tenant, limit)
                if item.collection == collection and item.thumb == "down" and item.question.strip()
            ]
        return sorted(found, key=lambda item: -item.at)

    async def _find_source(
        self, principal: Principal, known: Collection, place: SourcePlace
    ) -> VerifiedSource:
        """Return a source as it is now. Raises UnknownDocument."""
        documents = await self._adapters.catalog.documents(
            known.tenant, known.id, readers=principal.names, named=[place.document], limit=1
        )
        if not documents or not documents[0].version:
            raise UnknownDocument(place.document)
        if 0 < place.end <= place.start:
            raise InputError(
                f"The place in {place.document!r} ends before it begins. Give a later end."
            )
        document = documents[0]
        end = place.end or place.start + BEGINNING
        return VerifiedSource(
            document.id, document.path, document.title, place.start, end, document.content_hash
        )

    async def _list_answers(self, known: Collection) -> list[VerifiedAnswer]:
        found = await self._store.list_all(known.tenant, known.id)
        sources, now = await find_sources(found, self._adapters), state_time()
        return [
            replace(item, collection=known.name, state=find_state(item, sources, now))
            for item in found
        ]


async def group_questions(
    found: Sequence[ReviewedQuestion], embedder: Embedder
) -> list[QuestionGroup]:
    """Group questions by the likeness of their vectors: each joins the group whose first question
    it is most like, or begins one. The largest group first."""
    texts = list(dict.fromkeys(item.question for item in found))
    if not texts:
        return []
    vectors = await embedder.embed_queries(texts)
    placed = dict(zip(texts, _place(vectors, embedder.cosines[0]), strict=True))
    groups: dict[int, list[ReviewedQuestion]] = {}
    for item in found:
        groups.setdefault(placed[item.question], []).append(item)
    grouped = [QuestionGroup(items[0].question, tuple(items)) for items in groups.values()]
    return sorted(grouped, key=lambda group: -len(group.questions))


def _place(vectors: Vectors, unrelated: float) -> list[int]:
    """For each question the first one of its group."""
    leaders: list[int] = []
    placed: list[int] = []
    for number, vector in enumerate(vectors):
        likeness = (vectors[leaders] @ vector - unrelated) / (1 - unrelated) if leaders else None
        if likeness is not None and likeness.max() >= MIN_LIKENESS:
            placed.append(leaders[int(np.argmax(likeness))])
        else:
            leaders.append(number)
            placed.append(number)
    return placed


def open_service(parts: ServiceParts) -> LocalVerified:
    """Make the operations of this process."""
    return LocalVerified(parts.adapters)
