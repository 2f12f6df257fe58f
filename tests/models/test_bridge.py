"""Other languages in the space of the English model."""

from typing import Literal

import numpy as np
import pytest

from ragstone.models.minilm import MiniLm
from ragstone.models.multilingual import Bridge, MultilingualE5, map_vectors

pytestmark = pytest.mark.slow

PASSAGES = [
    "The firewall rejects every packet that no rule allows.",
    "Bake the bread for forty minutes until the crust is brown.",
    "Whales are mammals that live in the sea.",
]


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Was macht die Firewall mit Paketen?", 0),
        ("¿Cuánto tiempo se hornea el pan?", 1),
        ("鲸鱼生活在哪里？", 2),
    ],
)
async def test_a_question_is_nearest_to_the_passage_that_answers_it(
    question: str, place: int
) -> None:
    asked = await Bridge(MultilingualE5()).embed_queries([question])
    passages = await MiniLm().embed_passages(PASSAGES)
    assert int((passages @ asked[0]).argmax()) == place


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Welcher Befehl aktualisiert die Pakete?", {"updated", "packages"}),
        ("如何配置防火墙规则？", {"firewall", "rules"}),
        ("Quels fichiers du serveur ?", {"files", "server"}),
        ("123 ?", set()),
    ],
)
async def test_words_are_found_in_english(question: str, words: set[str]) -> None:
    said = await Bridge(MultilingualE5()).english_words(question)
    assert words <= set(said.split())
    assert bool(said) == bool(words)


@pytest.mark.parametrize("what", ["questions", "passages"])
def test_vectors_have_unit_length(what: Literal["questions", "passages"]) -> None:
    found = map_vectors(np.random.default_rng(0).normal(size=(4, 384)).astype(np.float32), what)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


async def test_a_passage_is_nearest_to_its_translation() -> None:
    bridge, english = Bridge(MultilingualE5()), await MiniLm().embed_passages(PASSAGES)
    german = await bridge.embed_passages(
        [
            "Die Firewall weist jedes Paket ab, das keine Regel erlaubt.",
            "Das Brot vierzig Minuten backen, bis die Kruste braun ist.",
            "Wale sind Säugetiere, die im Meer leben.",
        ]
    )
    assert (english @ german.T).argmax(axis=0).tolist() == [0, 1, 2]
