"""Cross-encoders and models of natural language inference: what their numbers mean is read from
their config.json."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragstone.core.errors import ConfigError
from ragstone.plugins.named_models.pair_models import NliModel, PairModel, relevance
from ragstone.plugins.named_models.places import ModelPlaces
from tests.named_models.small_models import Encoder, PairScorer, a_scorer, an_encoder, overlap

QUESTION = "Who is it that can sing in the sea?"
PASSAGES = ["Cats purr.", "Whales sing in the sea.", "Ships sail, and sing in the sea with it."]
PAIRS = [(QUESTION, passage) for passage in PASSAGES]
COUNTED = np.array([overlap(*pair) for pair in PAIRS], np.float32)


def a_model(folder: Path, setting: str = "RERANK__MODEL") -> PairModel:
    return PairModel(setting, str(folder), ModelPlaces(folder / "data"))


def scores(folder: Path) -> Any:
    model = a_model(folder)
    return relevance(model.layout, model.outputs).scores(model.logits(PAIRS))


def sigmoid(values: Any) -> Any:
    return 1 / (1 + np.exp(-values))


@pytest.mark.parametrize(
    ("key", "activation", "expected"),
    [
        ("sbert_ce_default_activation_function", "torch.nn.modules.linear.Identity", sigmoid),
        ("sbert_ce_default_activation_function", None, sigmoid),
        ("activation_fn", "torch.nn.modules.activation.Sigmoid", sigmoid),
        ("activation_fn", "torch.nn.modules.activation.Tanh", lambda x: (np.tanh(x) + 1) / 2),
    ],
)
def test_given_one_number_a_pair_then_its_activation_makes_the_score(
    key: str, activation: str | None, expected: Any, tmp_path: Path
) -> None:
    said: Any = {key: activation}
    config = {"sentence_transformers": said} if key == "activation_fn" else said
    assert np.allclose(scores(a_scorer(tmp_path, **config)), expected(COUNTED), atol=1e-5)


@pytest.mark.parametrize(
    ("labels", "relevant"),
    [
        (["LABEL_0", "LABEL_1"], 1),
        (["irrelevant", "relevant"], 1),
        (["relevant", "not_relevant"], 0),
        (["yes", "no"], 0),
        (["False", "True"], 1),
    ],
)
def test_given_two_labels_then_the_relevant_one_is_the_score_wherever_it_stands(
    labels: Sequence[str], relevant: int, tmp_path: Path
) -> None:
    factors = (1.0, -1.0) if relevant == 0 else (-1.0, 1.0)
    assert np.allclose(scores(a_scorer(tmp_path, labels, factors)), sigmoid(2 * COUNTED), atol=1e-5)


@pytest.mark.parametrize(
    ("labels", "factors", "config", "said"),
    [
        (["happy", "sad"], (1, -1), {}, "none is known as relevance"),
        (["LABEL_0", "LABEL_1", "LABEL_2"], (1, 0, -1), {}, "3 numbers a pair"),
        (["LABEL_0", "LABEL_1"], (1, 0, -1), {}, "3 numbers a pair"),
        ([], (1, -1), {}, "without labels"),
        (["contradiction", "entailment", "neutral"], (1, 0, -1), {}, "natural language inference"),
        ([], (1,), {"sbert_ce_default_activation_function": "torch.nn.ReLU"}, "applies ReLU"),
        ([], (1, -1), {"id2label": {"first": "relevant", "second": "no"}}, "id2label"),
    ],
)
def test_given_numbers_that_nothing_explains_then_one_line_says_so(
    labels: Sequence[str],
    factors: Sequence[float],
    config: dict[str, Any],
    said: str,
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match="RERANK__MODEL") as raised:
        scores(a_scorer(tmp_path, labels, factors, **config))
    assert said in raised.value.message


def test_given_an_embedding_model_where_a_reranker_is_asked_then_it_says_which_setting(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match=r"embedding model \(BertModel\).*EMBEDDING__MODEL"):
        a_model(an_encoder(tmp_path / "tokens"))
    with pytest.raises(ConfigError, match="embedding model"):
        a_model(an_encoder(tmp_path / "whole", Encoder("token_embeddings", whole=True)))


def test_given_a_model_of_words_then_it_scores_no_pairs(tmp_path: Path) -> None:
    PairScorer(rank=3).save(a_scorer(tmp_path) / "onnx/model.onnx")
    with pytest.raises(ConfigError, match="predicts words"):
        a_model(tmp_path)


CLASSES = ["entailment", "neutral", "contradiction"]


@pytest.mark.parametrize(
    "labels",
    [
        ["contradiction", "entailment", "neutral"],
        ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"],
        ["entailment", "neutral", "contradiction"],
    ],
)
async def test_given_any_order_of_classes_then_the_config_says_which_is_which(
    labels: Sequence[str], tmp_path: Path
) -> None:
    factors = {"entailment": 1.0, "neutral": 0.25, "contradiction": -1.0}
    folder = a_scorer(tmp_path, labels, [factors[label.lower()] for label in labels])
    model = NliModel("READER__MODEL", str(folder), ModelPlaces(tmp_path))
    found = await model.infer(PAIRS)
    raised = np.exp([[factors[item] * count for item in CLASSES] for count in COUNTED])
    shares = raised / raised.sum(axis=1, keepdims=True)
    assert [(item.entailed, item.neither, item.contradicted) for item in found] == [
        pytest.approx(row, abs=1e-5) for row in shares.tolist()
    ]
    assert all(item.whole for item in found)
    assert await model.infer([]) == []
    await model.aclose()


async def test_given_two_classes_then_nothing_is_said_to_be_contradicted(tmp_path: Path) -> None:
    folder = a_scorer(tmp_path, ["entailment", "not_entailment"], (1, -1))
    model = NliModel("READER__MODEL", str(folder), ModelPlaces(tmp_path))
    found = await model.infer(PAIRS)
    assert [item.contradicted for item in found] == [0, 0, 0]
    assert [item.entailed for item in found] == pytest.approx(sigmoid(2 * COUNTED), abs=1e-5)
    await model.aclose()


async def test_given_a_claim_that_is_too_long_then_it_is_not_judged_as_a_whole(
    tmp_path: Path,
) -> None:
    folder = a_scorer(tmp_path, CLASSES, (1, 0, -1))
    model = NliModel("READER__MODEL", str(folder), ModelPlaces(tmp_path))
    long = "The whale sings in the sea. " * 200
    middling = long[:1500]
    pairs = [("Whales sing.", long), (long * 30, "Whales sing."), (long, middling)]
    found = await model.infer([*pairs, ("Whales sing.", middling)])
    assert [item.whole for item in found] == [False, True, False, True]
    await model.aclose()


@pytest.mark.parametrize(
    ("labels", "factors"),
    [
        (["LABEL_0", "LABEL_1", "LABEL_2"], (1, 0, -1)),
        (["entailment", "contradiction"], (1, -1)),
        (["entailment", "neutral", "contradiction"], (1, -1)),
        (["entailment", "entailed", "neutral"], (1, 0, -1)),
        ([], (1,)),
    ],
)
def test_given_classes_that_are_not_those_of_inference_then_one_line_says_so(
    labels: Sequence[str], factors: Sequence[float], tmp_path: Path
) -> None:
    folder = a_scorer(tmp_path, labels, factors)
    with pytest.raises(ConfigError, match=r"READER__MODEL.*id2label"):
        NliModel("READER__MODEL", str(folder), ModelPlaces(tmp_path))
