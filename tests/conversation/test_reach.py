"""Who reads what a turn was answered from."""

from hypothesis import given
from hypothesis import strategies as some

from ragstone.conversation.reach import join_origins, select_readable
from ragstone.core.chunk import Chunk
from ragstone.core.conversation import turn_origin
from ragstone.core.readers import LONGEST_NAMES as MAX_CHARS
from ragstone.core.readers import Provenance, Reader
from ragstone.core.turn import Ask, Hit, Principal, Turn
from tests.memory_store import MemoryNames

NAMES = MemoryNames()
NAMES.ids = {("t", "law"): "c1", ("t", "hr"): "c2", ("other", "law"): "c3"}
LAW, BOTH, GONE = Provenance(("c1",)), Provenance(("c1", "c2")), Provenance(("c9",))
STAFF = Provenance(("c1",), (("group:hr", "group:staff"),))


async def reads(reader: Reader, *origins: Provenance | None) -> list[bool]:
    texts = [origin.text if origin else "" for origin in origins]
    found = await select_readable(texts, reader, NAMES, "t")
    return [found is None or text in found for text in texts]


async def test_who_reaches_all_reads_all() -> None:
    assert await reads(Reader(), LAW, BOTH, GONE, STAFF, None) == [True] * 5


async def test_single_collections_are_read_whole_or_not_at_all() -> None:
    assert await reads(Reader(["law"]), LAW, BOTH, GONE, None) == [True, False, False, False]
    assert await reads(Reader(["law", "hr"]), LAW, BOTH, GONE) == [True, True, False]
    assert await reads(Reader([]), LAW, Provenance()) == [False, True]


async def test_each_document_needs_one_of_its_groups() -> None:
    known = {"group:staff", "user:eva"}
    assert await reads(Reader(None, known), STAFF, LAW, None) == [True, True, True]
    assert await reads(Reader(None, {"user:eva"}), STAFF, LAW) == [False, True]


async def test_what_is_said_after_an_unknown_turn_is_for_who_reaches_all() -> None:
    after = join_origins([LAW.text, ""])
    assert await reads(Reader(["law", "hr"]), after) == [False]
    assert await reads(Reader(None, {"*"}), after) == [True]
    assert join_origins([LAW.text, BOTH.text]) == BOTH


def test_a_turn_needs_the_groups_by_which_its_asker_read_documents() -> None:
    def hit(*allowed: str) -> Hit:
        return Hit(Chunk("c", "d", 1, 0, "text", "", "/p", "t", "c1", 0, 4, allowed=allowed), 1.0)

    eva = Principal("t", "eva", ("hr", "staff"))
    ask = Ask("Why?", eva, collection_id="c1")
    hits = (hit("*", "group:hr"), hit("user:eva", "group:hr"), hit("group:hr", "group:ops"))
    assert turn_origin(Turn(ask, hits=hits)) == Provenance(("c1",), (("group:hr",),))
    assert turn_origin(Turn(ask, remembered=BOTH)) == BOTH


groups = some.lists(some.text(min_size=1, max_size=60), max_size=30)


@given(some.lists(some.text(max_size=40), max_size=30), some.lists(groups, max_size=10))
async def test_a_short_origin_is_for_nobody_who_does_not_read_the_long_one(
    collections: list[str], sets: list[list[str]]
) -> None:
    whole = Provenance(tuple(collections), tuple(tuple(group) for group in sets if group))
    short = whole.short()
    assert len(short.text) <= MAX_CHARS
    assert Provenance.read(short.text) == short
    names = {name for group in whole.groups[:-1] for name in group}
    for reader in (Reader(None, names), Reader(collections, None)):
        if await select_readable([short.text], reader, _Everything(), "t"):
            assert await select_readable([whole.text], reader, _Everything(), "t")


class _Everything(MemoryNames):
    async def names(self, tenant: str, ids: object) -> dict[str, str]:
        return {id: id for id in ids if id}  # type: ignore[attr-defined]
