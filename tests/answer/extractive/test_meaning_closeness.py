"""Sentences in another language than the question are compared by meaning."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ragstone.answer.extractive.meaning_closeness import MAX_UNITS, MeaningCloseness
from ragstone.answer.extractive.unit_ranking import rank_units
from ragstone.answer.extractive.units import units
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Passage
from ragstone.ports import Catalog
from tests.engine.samples import a_passage
from tests.hashing import HashingEmbedder, OneEmbedder

ASKED = "Wie groß ist der Tank dieser Maschine?"
TEXT = "It weighs 13 kilograms in all. The tank der Maschine holds 4.5 litres. It has two keys."


async def closeness(question: str, *passages: Passage, multilingual: bool = True) -> Any:
    embedder = HashingEmbedder()
    embedder.multilingual = multilingual
    collection = Collection("default", "default", embedder.name, embedder.fingerprint, 32)

    async def found(*args: object, **options: object) -> Collection:
        return collection

    catalog = cast(Catalog, SimpleNamespace(collection=found, identified=found))
    compared = MeaningCloseness(catalog, OneEmbedder(embedder))
    return await compared(Ask(question), passages, [units(passage.text) for passage in passages])


async def test_given_another_language_then_each_sentence_has_its_likeness() -> None:
    [likeness] = await closeness(ASKED, a_passage(1, TEXT, language="en"))
    assert len(likeness) == len(units(TEXT))
    assert likeness.argmax() == 1
    assert ((likeness >= 0) & (likeness <= 1)).all()


@pytest.mark.parametrize(
    ("question", "language", "multilingual"),
    [(ASKED, "de", True), (ASKED, "en", False), ("Tank 300", "en", True), (ASKED, "", True)],
)
async def test_given_one_language_or_an_unknown_one_then_nothing_is_embedded(
    question: str, language: str, multilingual: bool
) -> None:
    passage = a_passage(1, TEXT, language=language)
    assert await closeness(question, passage, multilingual=multilingual) is None


async def test_given_many_sentences_then_only_the_first_are_embedded() -> None:
    long = a_passage(1, " ".join(f"The tank number {n} is full." for n in range(99)), language="en")
    [likeness] = await closeness(ASKED, long)
    assert likeness[:MAX_UNITS].any()
    assert not likeness[MAX_UNITS:].any()


def test_given_a_likeness_then_the_sentence_answers_though_no_word_is_shared() -> None:
    passage = a_passage(1, TEXT, language="en")
    found = [units(TEXT)]
    meant = [np.array([0.1, 0.9, 0.1], np.float32)]
    best, confidence = rank_units("Quanto contiene il serbatoio?", [passage], found, None, meant)
    assert best[0].place == 1
    assert confidence > 0.5
    unlike = [0 * meant[0]]
    assert (
        rank_units("Quanto contiene il serbatoio?", [passage], found, None, unlike)[1] < confidence
    )
