"""When a collection's passages have outgrown its embedding model."""

import pytest

from ragstone.core.records import Collection
from ragstone.ingest.embedding import explain_outgrown, main_language
from ragstone.models.embedders import ConfiguredEmbedders
from ragstone.settings import EmbeddingSettings


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"en": 100}, "en"),
        ({"en": 100, "de": 15}, "mul"),
        ({"en": 100, "de": 2, "fr": 2, "la": 2, "no": 2, "nl": 2, "ro": 2}, "en"),
        ({"de": 90, "en": 10}, "de"),
        ({"de": 50, "en": 50}, "mul"),
        ({"": 3}, ""),
        ({}, ""),
    ],
)
def test_given_the_languages_of_passages_then_that_of_the_collection(
    counts: dict[str, int], expected: str
) -> None:
    assert main_language(counts) == expected


def a_collection(model: str, fingerprint: str) -> Collection:
    return Collection("default", "manuals", model, fingerprint, 384, "en")


def test_given_an_english_collection_that_turns_multilingual_then_the_rebuild_is_offered() -> None:
    embedders = ConfiguredEmbedders(EmbeddingSettings())
    english = embedders.choose("en")
    collection = a_collection(english.name, english.fingerprint)
    said = explain_outgrown(collection, {"en": 100, "de": 40, "no": 1}, embedders)
    assert "passages in de by now" in said
    assert "ragstone rebuild --collection manuals" in said
    assert explain_outgrown(collection, {"en": 100, "no": 1}, embedders) == ""


def test_given_the_multilingual_model_or_no_other_one_then_nothing_is_said() -> None:
    embedders = ConfiguredEmbedders(EmbeddingSettings())
    fitting = embedders.choose("de")
    mixed = {"en": 50, "de": 50}
    assert explain_outgrown(a_collection(fitting.name, fitting.fingerprint), mixed, embedders) == ""
    only = ConfiguredEmbedders(EmbeddingSettings(model="minilm"))
    english = only.choose("en")
    assert explain_outgrown(a_collection(english.name, english.fingerprint), mixed, only) == ""
