"""The English model in integers, beside the same weights in floats."""

import numpy as np
import onnx
import pytest

from ragstone.models.engines import MINILM_GRAPH, MiniLmEngine, model_file
from ragstone.models.minilm import MiniLmModel
from ragstone.models.onnx import open_session
from training import minilm_graph
from training.e5_graph import DATA

TEXTS = (
    "Whales sing.",
    "contract",
    "Die Kündigungsfrist beträgt 30 Tage. " * 40,
    "Total assets were $1,234.5 million at 31 December 2023.",
    "鲸鱼",
)


@pytest.mark.parametrize("text", TEXTS)
def test_its_states_are_near_those_of_the_weights_in_floats(text: str) -> None:
    model = MiniLmModel()
    ids, states = model.states(text)
    floats = open_session(model_file())
    feed = {
        "input_ids": np.array([ids]),
        "attention_mask": np.ones((1, len(ids)), np.int64),
        "token_type_ids": np.zeros((1, len(ids)), np.int64),
    }
    wanted = floats.run(None, feed)[0][0]
    lengths = np.linalg.norm(states, axis=1) * np.linalg.norm(wanted, axis=1)
    assert ((states * wanted).sum(axis=1) / lengths).min() > 0.98
    one, other = states.mean(axis=0), wanted.mean(axis=0)
    assert one @ other / np.linalg.norm(one) / np.linalg.norm(other) > 0.995


def test_two_products_never_overflow_16_bits() -> None:
    levels, zero = minilm_graph.LEVELS, minilm_graph.ZERO
    assert 2 * (zero + levels) * 127 < 2**15
    assert zero >= levels


def test_the_graph_and_the_places_that_are_shipped_are_those_that_are_made() -> None:
    shipped = onnx.load(DATA / MINILM_GRAPH, load_external_data=False)
    assert shipped.graph == minilm_graph.draw_graph().graph
    places = minilm_graph.places(model_file())
    assert MiniLmEngine.load().states([101, 102]).shape == (2, 384)
    held = {item.name: item for item in onnx.load(model_file()).graph.initializer}
    words = places["emb.words.w"]
    data = model_file().read_bytes()[words.at : words.at + int(np.prod(words.shape))]
    assert data == held["inner.embeddings.word_embeddings.weight_q"].raw_data
