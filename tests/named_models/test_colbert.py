"""ColBERT models by folder: small real ones in the layouts of ColBERT, fastembed and PyLate, and
what is none."""

import json
import string
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragstone.core.errors import ConfigError, EmbeddingMismatch
from ragstone.language.late_interaction import unpack_tokens
from ragstone.models.embedders import ConfiguredEmbedders
from ragstone.models.named import NamedModels
from ragstone.plugins.named_models.colbert import Colbert
from ragstone.plugins.named_models.hub import belongs
from ragstone.plugins.named_models.late_embedder import ColbertEmbedder
from ragstone.plugins.named_models.places import ModelPlaces
from ragstone.ports import LateEmbedder
from ragstone.settings import EmbeddingSettings
from tests.models.test_embedders import a_collection
from tests.named_models.small_models import (
    WIDTH,
    Encoder,
    a_scorer,
    an_encoder,
    table,
    tokenizer,
    tokenizer_json,
)

CLS, SEP, MASK = 101, 102, 103
QUESTION, PASSAGE = 1, 2
"""[unused0] and [unused1] of BERT's vocabulary."""

OWN = {
    "query_token_id": "[unused0]",
    "doc_token_id": "[unused1]",
    "query_maxlen": 16,
    "dim": WIDTH,
    "mask_punctuation": True,
    "attend_to_mask_tokens": False,
}


def a_colbert(folder: Path, own: dict[str, Any] | None = None, **changes: Any) -> Path:
    """A model's folder as fastembed's late interaction models have it; `own` is ColBERT's file."""
    an_encoder(folder, pooling=None, **changes)
    if own is not None:
        (folder / "artifact.metadata").write_text(json.dumps(own), encoding="utf-8")
    return folder


def opened(folder: Path, tmp_path: Path) -> Colbert:
    return Colbert(str(folder), ModelPlaces(tmp_path / "data"))


def computed(ids: list[int], attended: int) -> Any:
    """What the small encoder makes of tokens of which the first `attended` are attended to."""
    rows = table()[ids]
    found = rows + rows[:attended].mean(axis=0)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def ids_of(text: str) -> list[int]:
    return list(tokenizer().encode(text, add_special_tokens=False).ids)


def test_given_a_question_then_it_is_marked_and_filled_up_with_masks_nobody_attends_to(
    tmp_path: Path,
) -> None:
    model = opened(a_colbert(tmp_path / "m", OWN), tmp_path)
    found = model.question("Where do whales sing?")
    own = ids_of("Where do whales sing?")
    read = [CLS, QUESTION, *own, SEP]
    every = computed([*read, *[MASK] * (16 - len(read))], len(read))
    assert found.ids.tolist() == own
    assert len(found.vectors) == 16
    assert np.allclose(found.vectors[: len(own)], every[2 : 2 + len(own)], atol=1e-5)
    assert np.allclose(found.vectors[-1], every[-1], atol=1e-5)


def test_given_a_longer_question_then_all_of_its_tokens_count(tmp_path: Path) -> None:
    model = opened(a_colbert(tmp_path / "m", OWN), tmp_path)
    text = "whales sing in the deep sea " * 5
    assert len(model.question(text).vectors) == len(ids_of(text)) + 3


def test_given_a_passage_then_it_is_marked_and_its_punctuation_has_no_vectors(
    tmp_path: Path,
) -> None:
    model = opened(a_colbert(tmp_path / "m", OWN), tmp_path)
    text = "Whales sing, and (often) sleep."
    [packed] = model.passages([text])
    found = unpack_tokens(packed, model.scale)
    own = ids_of(text)
    every = computed([CLS, PASSAGE, *own, SEP], len(own) + 3)
    silent = {ids_of(item)[0] for item in string.punctuation}
    kept = [0, 1, len(own) + 2, *(i + 2 for i, item in enumerate(own) if item not in silent)]
    assert found.ids.tolist() == own
    assert len(kept) == len(own) + 3 - 4
    # Two bits a number.
    assert ((found.vectors * every[kept]).sum(axis=1) > 0.8).all()
    assert (found.vectors @ every[kept].T).argmax(axis=1).tolist() == list(range(len(kept)))
    [placed] = model.place_tokens([text])
    assert len(placed.starts) == len(found.vectors)
    assert [text[at] for at in placed.starts[3:]] == ["W", "s", "a", "o", "s"]


@pytest.mark.parametrize("file", ["config_sentence_transformers", "onnx_config"])
def test_given_the_files_of_pylate_then_markers_lengths_and_skipped_words_are_theirs(
    file: str, tmp_path: Path
) -> None:
    said = {
        "query_prefix": "[unused0] ",
        "document_prefix": "[unused1] ",
        "query_length": 12,
        "attend_to_expansion_tokens": True,
        "skiplist_words": ["sing"],
    }
    model = opened(a_colbert(tmp_path / "m", **{file: said}), tmp_path)
    own = ids_of("whales sing")
    every = computed([CLS, QUESTION, *own, SEP, *[MASK] * 7], 12)
    assert np.allclose(model.question("whales sing").vectors[:2], every[2:4], atol=1e-5)
    assert len(unpack_tokens(model.passages(["whales sing"])[0], model.scale).vectors) == 4


def test_given_a_model_that_fills_nothing_up_then_questions_stay_as_they_are(
    tmp_path: Path,
) -> None:
    said = {"query_prefix": "[unused0]", "document_prefix": "[unused1]"}
    folder = a_colbert(tmp_path / "m", onnx_config={**said, "do_query_expansion": False})
    assert len(opened(folder, tmp_path).question("whales sing").vectors) == 5


def test_given_no_file_of_settings_then_they_are_those_of_colbert(tmp_path: Path) -> None:
    model = opened(a_colbert(tmp_path / "m"), tmp_path)
    assert (model.config.question_marker, model.config.passage_marker) == (QUESTION, PASSAGE)
    assert len(model.question("whales").vectors) == 32


def test_given_a_file_without_the_projection_then_the_others_are_named(tmp_path: Path) -> None:
    folder = a_colbert(tmp_path / "m", {**OWN, "dim": 16})
    Encoder().save(folder / "onnx/projected.onnx")
    with pytest.raises(ConfigError, match=r"of 32 numbers instead of 16.*onnx/projected\.onnx"):
        opened(folder, tmp_path)


def test_given_a_model_that_scores_pairs_then_one_line_says_so(tmp_path: Path) -> None:
    folder = a_scorer(tmp_path / "m", file="model.onnx")
    with pytest.raises(ConfigError, match="no vectors of tokens"):
        opened(folder, tmp_path)


def test_given_no_markers_then_it_is_no_colbert_model(tmp_path: Path) -> None:
    folder = a_colbert(tmp_path / "m")
    said = json.loads(tokenizer_json())
    said["model"]["vocab"] = {
        name.replace("unused", "other"): id for name, id in said["model"]["vocab"].items()
    }
    (folder / "tokenizer.json").write_text(json.dumps(said), encoding="utf-8")
    with pytest.raises(ConfigError, match="no markers of questions and passages"):
        opened(folder, tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"query_maxlen": "long"}'])
def test_given_a_damaged_file_of_settings_then_it_is_named(text: str, tmp_path: Path) -> None:
    folder = a_colbert(tmp_path / "m")
    (folder / "artifact.metadata").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"artifact\.metadata"):
        opened(folder, tmp_path)


def test_given_a_hub_then_the_file_of_colbert_is_fetched_too() -> None:
    assert belongs("artifact.metadata", "model.onnx")
    assert not belongs("pytorch_model.bin", "model.onnx")


async def chosen(tmp_path: Path, **changes: Any) -> ConfiguredEmbedders:
    found = ConfiguredEmbedders(EmbeddingSettings(**changes), NamedModels(tmp_path / "data"))
    await found.connect()
    return found


@pytest.fixture
async def embedders(tmp_path: Path) -> AsyncIterator[ConfiguredEmbedders]:
    found = await chosen(tmp_path, late_model=str(a_colbert(tmp_path / "m", OWN)))
    yield found
    await found.aclose()


async def test_given_a_colbert_model_then_every_embedder_has_its_token_vectors(
    embedders: ConfiguredEmbedders, tmp_path: Path
) -> None:
    plain = await chosen(tmp_path)
    for language in ("en", "de"):
        late, own = embedders.choose(language), plain.choose(language)
        assert isinstance(late, LateEmbedder)
        assert late.token_dimensions() == WIDTH
        assert (late.name, late.dimensions) == (own.name, own.dimensions)
        vectors, tokens = await late.embed_with_tokens(["Whales sing."])
        assert np.array_equal(vectors, await own.embed_passages(["Whales sing."]))
        assert unpack_tokens(tokens[0], late.token_scale()).vectors.shape == (5, WIDTH)
        asked = await late.embed_question("whales")
        assert asked.tokens is not None
        assert len(asked.tokens.vectors) == 16
    await plain.aclose()


async def test_given_a_colbert_model_then_a_collection_of_other_tokens_is_to_be_rebuilt(
    embedders: ConfiguredEmbedders, tmp_path: Path
) -> None:
    plain = await chosen(tmp_path)
    with pytest.raises(EmbeddingMismatch):
        embedders.find_indexing(a_collection(plain.choose("en").fingerprint))
    late = embedders.choose("en")
    collection = a_collection(late.fingerprint)
    assert embedders.find_indexing(collection) is late
    assert embedders.find_bridging(collection) is not None
    with pytest.raises(EmbeddingMismatch):
        plain.find_indexing(collection)
    await plain.aclose()


async def test_given_a_colbert_model_then_the_doctors_line_names_it(
    embedders: ConfiguredEmbedders,
) -> None:
    late = embedders.choose("en")
    assert isinstance(late, ColbertEmbedder)
    assert f"{WIDTH} dimensions a token" in late.description
    assert late.description.startswith("all-MiniLM-L6-v2; token vectors of ")


async def test_given_a_name_that_is_none_then_one_line_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="EMBEDDING__LATE_MODEL is 'colbert'"):
        await chosen(tmp_path, late_model="colbert")
