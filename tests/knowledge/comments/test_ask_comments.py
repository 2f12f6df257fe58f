"""What customers say, from ingested tables to checked answers, with the bundled embedder."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
import pytest_asyncio

from ragstone import build
from ragstone.core.errors import InputError, UnknownCollection
from ragstone.core.events import Done
from ragstone.core.filters import And, eq, reader_filter
from ragstone.core.records import Thumb
from ragstone.core.turn import Ask, Principal, SearchType, Turn
from ragstone.local import Ragstone
from ragstone.plugins.comments.ask_comments import NO_COMMENTS
from ragstone.plugins.comments.comment_reader import own_reader
from ragstone.plugins.comments.contract import CommentsWanted
from ragstone.service import IngestRequest
from ragstone.settings import Settings
from tests.knowledge.comments.files import ROWS, reviews, workbook

pytestmark = pytest.mark.slow

STAFF = Principal(user="eva", groups=("staff",))
GUEST = Principal(user="guest")
BATTERY = sum("batter" in text.casefold() for *_, text in ROWS)
BAD_BATTERY = sum("batter" in text.casefold() and stars < 3 for _, _, stars, text in ROWS)


@pytest_asyncio.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as opened:
        yield opened


async def ingested(ragstone: Ragstone, path: Path, allowed: tuple[str, ...] = ("*",)) -> None:
    request = IngestRequest((str(path),), allowed=allowed)
    assert [item async for item in ragstone.ingest(request)][-1].failed == ()


async def asked(
    ragstone: Ragstone, question: str, who: Principal = GUEST, search_type: SearchType = "rag"
) -> Turn:
    ask = Ask(question, principal=who, search_type=search_type)
    events = [item async for item in ragstone.ask(ask)]
    assert isinstance(events[-1], Done)
    return events[-1].turn


def first_line(turn: Turn) -> str:
    assert turn.answer is not None
    return turn.answer.text.splitlines()[0]


@pytest.mark.conforms("chat-core", "15.3", "VOC search (Voice of Customer)")
async def test_given_comments_then_they_are_counted_quoted_and_cited(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, reviews(tmp_path))
    turn = await asked(ragstone, "What do customers say about the battery?", search_type="voc")
    answer = turn.answer
    assert answer is not None
    first, *quotes = answer.text.splitlines()
    assert first.startswith(
        f"{BATTERY} of {len(ROWS)} comments speak of “battery”, mostly negative: "
        f"{BAD_BATTERY} negative, {BATTERY - BAD_BATTERY} positive"
    )
    assert len(quotes) == 5
    texts = {passage.number: passage.text for passage in turn.passages}
    for quote in quotes:
        row, _, number = quote.removeprefix("- ").removesuffix("]").rpartition(" [")
        assert row in texts[int(number)]
    assert {verdict.label for verdict in turn.verdicts} == {"supported"}
    assert answer.computed is not None
    assert answer.computed.used == len(answer.computed.rows) == BATTERY
    assert all("batter" in row.casefold() for _, _, row in answer.computed.rows)


async def test_given_a_quarter_and_a_product_then_only_these_are_counted(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, reviews(tmp_path))
    turn = await asked(ragstone, "How many reviews of the Nova in 2024-Q2 mention the battery?")
    among = [row for row in ROWS if row[1] == "Nova" and "2024-04" <= row[0] < "2024-07"]
    own = [row for row in among if "battery" in row[3].casefold()]
    start = f"{len(own)} of {len(among)} comments (Product: Nova, 2024-Q2) speak of “battery”"
    assert first_line(turn).startswith(start)


async def test_given_a_table_that_the_asker_may_not_read_then_it_is_not_counted(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, workbook(tmp_path))
    await ingested(ragstone, reviews(tmp_path), ("group:staff",))
    question = "What do customers complain about?"
    staff = await asked(ragstone, question, STAFF)
    guest = await asked(ragstone, question, GUEST)
    assert f" of {len(ROWS) + 4} comments are negative" in first_line(staff)
    assert first_line(guest).startswith("3 of 4 comments are negative.")
    assert "attery" not in repr(guest)
    view = await ragstone.comments.show(GUEST, "default", CommentsWanted())
    assert view.among.comments == 4
    assert view.themes == ()


async def test_given_a_deleted_table_then_nothing_of_it_is_counted(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, reviews(tmp_path))
    shown = await ragstone.comments.show(GUEST, "default", CommentsWanted())
    assert shown.among.comments == len(ROWS)
    await ragstone.delete(STAFF, "default", ["/reviews.csv"])
    shown = await ragstone.comments.show(GUEST, "default", CommentsWanted())
    assert shown.among.comments == 0


async def test_given_other_questions_then_they_are_answered_as_ever(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, reviews(tmp_path))
    for question in ("How long does the battery last?", "What do users say about opera houses?"):
        turn = await asked(ragstone, question)
        assert turn.answer is not None
        assert turn.answer.computed is None
        [traced] = [item for item in turn.trace if item.stage == "ask_comments"]
        assert traced.decision in ("skipped", "nothing counted")


async def test_given_no_table_of_comments_then_it_is_said_and_answered_from_documents(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    (tmp_path / "guide.txt").write_text("The battery of the Nova lasts eight hours.")
    await ingested(ragstone, tmp_path / "guide.txt")
    turn = await asked(ragstone, "How long does the battery last?", search_type="voc")
    assert NO_COMMENTS in turn.notes
    assert "eight hours" in first_line(turn)


async def test_given_no_ratings_then_the_small_model_tells_most_tones(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, reviews(tmp_path, rated=False))
    view = await ragstone.comments.show(GUEST, "default", CommentsWanted(limit=100))
    tones = {comment.text: comment.tone for comment in view.comments}
    clear = {
        text: "negative" if stars < 3 else "positive" for _, _, stars, text in ROWS if stars != 3
    }
    assert sum(tones[text] == tone for text, tone in clear.items()) >= 0.7 * len(clear)
    opposite = {"negative": "positive", "positive": "negative"}
    assert sum(tones[text] == opposite[tone] for text, tone in clear.items()) <= 0.1 * len(clear)


async def test_given_what_is_wanted_then_facets_of_it_and_bad_input_is_named(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, reviews(tmp_path))
    wanted = CommentsWanted("battery", "negative", "2024-01-01", "2024-06-30", {"Product": "Echo"})
    view = await ragstone.comments.show(GUEST, "default", wanted)
    assert [month.name for month in view.months] == ["2024-04", "2024-06"]
    assert (view.counted.comments, view.counted.negative) == (2, 2)
    assert [label.name for label in view.labels["Product"]] == ["Echo"]
    for wrong, said in (
        (CommentsWanted(since="May"), "YYYY-MM-DD"),
        (CommentsWanted(since="2024-05-01", until="2024-04-01"), "after until"),
        (CommentsWanted(labels={"Price": "5"}), "they have: Product"),
    ):
        with pytest.raises(InputError, match=said):
            await ragstone.comments.show(GUEST, "default", wrong)
    with pytest.raises(UnknownCollection):
        await ragstone.comments.show(GUEST, "none", CommentsWanted())


async def test_given_a_filter_that_cuts_a_table_then_it_is_left_out(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, reviews(tmp_path))
    adapters = ragstone._adapters
    collection = await adapters.catalog.collection("default", "default")
    assert collection is not None
    reader = own_reader(adapters)
    assert reader is not None
    cut = And((reader_filter(GUEST), eq("chunk_index", 0)))
    part = await reader.read(collection, cut, 40)
    assert (part.comments, len(part.left_out)) == ((), 1)
    whole = await reader.read(collection, reader_filter(GUEST), 40)
    assert len(whole.comments) == len(ROWS)
    again = await reader.read(collection, cut, 40)
    assert again.comments == ()


async def test_given_no_time_then_nothing_is_counted_until_they_are_read(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, reviews(tmp_path))
    adapters = ragstone._adapters
    collection = await adapters.catalog.collection("default", "default")
    assert collection is not None
    reader = own_reader(adapters)
    assert reader is not None
    first = await reader.read(collection, reader_filter(GUEST), 0)
    assert (first.comments, first.waiting) == ((), len(ROWS))
    later = await reader.read(collection, reader_filter(GUEST), 40)
    assert (len(later.comments), later.waiting) == (len(ROWS), 0)
    await asyncio.sleep(0)


async def test_given_comments_on_answers_then_admins_see_them_by_thumb(
    ragstone: Ragstone,
) -> None:
    for number, (thumb, comment) in enumerate(
        (("up", "Exactly what I needed"), ("down", "The year is wrong"), ("down", ""))
    ):
        await ragstone.feedback.give(
            STAFF, f"a{number}", cast(Thumb, thumb), question="q", comment=comment
        )
    view = await ragstone.comments.of_answers("default", CommentsWanted())
    assert (view.counted.comments, view.counted.negative, view.counted.positive) == (2, 1, 1)
    wrong = await ragstone.comments.of_answers("default", CommentsWanted(labels={"thumb": "down"}))
    assert [item.text for item in wrong.comments] == ["The year is wrong"]
