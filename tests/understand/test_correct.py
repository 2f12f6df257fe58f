"""The question is corrected for the caller, by what the caller may read, and it is told."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragstone.core.events import Event, Note
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.engine.stage import Step
from ragstone.index.edge.index import EdgeIndex
from ragstone.language.unicode import find_plain_words
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import open_database
from ragstone.store.sql.vocabulary import SqlVocabulary
from ragstone.understand.correct import Correct
from ragstone.understand.route import Route
from tests.engine.adapters import ran
from tests.engine.samples import a_chunk

COLLECTION = Collection("default", "default", "m", "m/1", 3, "en")
EVA = Principal(groups=("board",))
BOB = Principal(user="bob")

PUBLIC = "The harbour of Vestmarka was built by Hrafnkelsson. Its goverments came later."
SECRET = "In FY2021 the board sold Zykrolin, and the Vestmarkans and Hrafnkelsons bought it."


@dataclass
class House:
    """A collection with a public and a secret document."""

    index: EdgeIndex
    catalog: SqlCatalog
    vocabulary: SqlVocabulary

    async def correct(self, question: str, who: Principal = BOB) -> tuple[Step, list[Event]]:
        turn = Turn(Ask(question, who), question)
        parts = {"index": self.index, "catalog": self.catalog, "vocabulary": self.vocabulary}
        return await ran(Correct(), turn, **parts)

    async def corrected(self, question: str, who: Principal = BOB) -> str:
        step, _ = await self.correct(question, who)
        return step.turn.question


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_database(tmp_path / "state.sqlite") as database:
        catalog = await SqlCatalog.open(database)
        await catalog.put_collection(COLLECTION)
        index = EdgeIndex(tmp_path / "index")
        await index.create(COLLECTION)
        texts = ((PUBLIC, ("*",)), (SECRET, ("group:board",)))
        chunks = [
            a_chunk(
                text,
                chunk_id=f"00000000-0000-0000-0000-{number:012}",
                document_id=f"d{number}",
                allowed=allowed,
            )
            for number, (text, allowed) in enumerate(texts)
        ]
        await index.upsert(COLLECTION, chunks)
        vocabulary = SqlVocabulary(database)
        await vocabulary.add(COLLECTION, find_plain_words(PUBLIC + " " + SECRET))
        yield House(index, catalog, vocabulary)
        await index.aclose()


@pytest.mark.conforms("Query pipeline", "Step 3", "Typing errors are corrected before the search")
async def test_given_a_misspelling_then_it_is_corrected_told_and_both_are_searched(
    house: House,
) -> None:
    step, events = await house.correct("Who built the harbuor first?")
    assert step.turn.question == "Who built the harbour first?"
    assert step.turn.original == "Who built the harbuor first?"
    assert (step.decision, step.reason) == ("corrected", "harbuor to harbour")
    assert events == [Note("correct", "Showing results for “Who built the harbour first?”.")]
    routed, _ = await ran(Route(), step.turn)
    assert routed.turn.queries == (step.turn.question, step.turn.original)


async def test_given_nothing_wrong_then_the_turn_is_the_same(house: House) -> None:
    step, events = await house.correct("Who built the harbour first?")
    assert (step.turn.original, step.decision, events) == ("", "unchanged", [])
    routed, _ = await ran(Route(), step.turn)
    assert routed.turn.queries == ("Who built the harbour first?",)


async def test_given_a_name_of_the_corpus_then_it_is_a_correction_and_is_left_alone(
    house: House,
) -> None:
    assert await house.corrected("Who was Hrafnkellsson?") == "Who was Hrafnkelsson?"
    assert await house.corrected("Who was Hrafnkelsson?") == "Who was Hrafnkelsson?"
    assert await house.corrected("What did the goverments do?") == "What did the goverments do?"


async def test_given_a_term_of_the_corpus_with_another_ending_then_it_is_left_alone(
    house: House,
) -> None:
    assert await house.corrected("What did the goverment do?") == "What did the goverment do?"


async def test_given_a_name_in_a_secret_document_then_only_its_readers_get_it(
    house: House,
) -> None:
    asked = "How much did Zykrolinn cost?"
    assert await house.corrected(asked, EVA) == "How much did Zykrolin cost?"
    assert await house.corrected(asked, BOB) == asked


async def test_given_a_form_that_only_a_secret_document_has_then_its_stem_gives_nothing_away(
    house: House,
) -> None:
    asked = "Where do the Vestmarkkans live?"
    assert await house.corrected(asked, EVA) == "Where do the Vestmarkans live?"
    assert await house.corrected(asked, BOB) == asked


async def test_given_a_secret_document_then_others_get_what_they_would_without_it(
    house: House,
) -> None:
    questions = [
        "Where is zykrolin made now?",
        "Who was Hrafnkellson?",
        "What do hrafnkelsons want there?",
        "Who sold the harbuor to Zykrolin?",
        "Is Vestmarkan a good place?",
    ]
    with_it = [await house.corrected(question) for question in questions]
    await house.index.delete(COLLECTION, _secret())
    assert [await house.corrected(question) for question in questions] == with_it
    await house.vocabulary._forget(COLLECTION)
    await house.vocabulary.add(COLLECTION, find_plain_words(PUBLIC))
    assert [await house.corrected(question) for question in questions] == with_it


async def test_given_a_collection_that_was_not_read_yet_then_the_dictionary_corrects(
    house: House,
) -> None:
    await house.vocabulary._forget(COLLECTION)
    assert await house.corrected("Who owns the harbuor now?") == "Who owns the harbour now?"
    assert await house.corrected("What did the goverments do?") == "What did the goverments do?"


async def test_given_no_such_collection_then_the_stage_says_nothing_about_it(
    house: House,
) -> None:
    turn = Turn(Ask("Who owns the harbuor now?", collection="other"), "Who owns the harbuor now?")
    step, _ = await ran(Correct(), turn, catalog=house.catalog, vocabulary=house.vocabulary)
    assert step.turn.question == "Who owns the harbour now?"


def _secret() -> object:
    from ragstone.core.filters import eq

    return eq("document_id", "d1")


async def test_a_code_of_a_period_is_spelt_out_for_who_cannot_find_it(house: House) -> None:
    question = "What did the board sell in FY2021?"

    step, events = await house.correct(question)

    assert step.turn.question == "What did the board sell in fiscal year 2021?"
    assert any(isinstance(event, Note) for event in events)
    assert await house.corrected(question, EVA) == question
