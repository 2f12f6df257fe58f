"""A cross-encoder of a name as a reranker: it reads question and passage together."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragstone.build import open_adapters
from ragstone.core.errors import ConfigError
from ragstone.core.records import Collection
from ragstone.plugins.named_models.pair_models import CrossEncoder
from ragstone.plugins.named_models.places import ModelPlaces
from ragstone.retrieve.rerankers import in_time
from ragstone.retrieve.rerankers.in_time import BATCH
from ragstone.settings import RerankSettings, Settings
from ragstone.settings.read import load
from tests.engine.samples import a_chunk
from tests.named_models.small_models import a_scorer

COLLECTION = Collection("default", "default", "m", "m/1", 8, "en")
CHUNKS = [a_chunk("Cats purr."), a_chunk("Whales sing in the sea."), a_chunk("Ships sail.")]
QUESTION = "Who is it that can sing in the sea?"


async def a_cross_encoder(folder: Path, **changes: Any) -> CrossEncoder:
    settings = RerankSettings(model=str(folder), **changes)
    model = CrossEncoder(settings, ModelPlaces(folder / "data"))
    await model.connect()
    return model


@pytest.mark.conforms("V5", "Flow 5", "A cross-encoder reranks (RERANK__MODEL)")
async def test_given_a_cross_encoder_then_pairs_are_read_together(tmp_path: Path) -> None:
    model = await a_cross_encoder(a_scorer(tmp_path))
    judged = await model.judge(COLLECTION, QUESTION, CHUNKS)
    assert judged.weight == 0.7
    assert int(np.argmax(judged.scores)) == 1
    assert np.all((judged.scores >= 0) & (judged.scores <= 1))
    many = [a_chunk(f"{i} " + "sea " * i) for i in range(20)]
    alone = [(await model.judge(COLLECTION, QUESTION, [item])).scores[0] for item in many]
    together = (await model.judge(COLLECTION, QUESTION, many)).scores
    assert together.tolist() == pytest.approx(alone)
    long = [a_chunk("sea " * 25_000), *CHUNKS]
    assert np.isfinite((await model.judge(COLLECTION, QUESTION * 300, long)).scores).all()
    await model.aclose()


@pytest.mark.conforms("V5", "5. Grade Documents", "A slow cross-encoder keeps the best so far")
async def test_given_a_slow_cross_encoder_then_the_best_candidates_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowClock:
        """Four seconds pass from each look at it to the next."""

        now = 0.0

        def monotonic(self) -> float:
            self.now += 4.0
            return self.now

    model = await a_cross_encoder(a_scorer(tmp_path))
    monkeypatch.setattr(in_time, "time", SlowClock())
    judged = await model.judge(COLLECTION, QUESTION, [*CHUNKS, *[a_chunk("Ships sail.")] * 47])
    assert np.flatnonzero(~np.isnan(judged.scores)).tolist() == list(range(4 * BATCH))
    assert int(np.nanargmax(judged.scores)) == 1
    await model.aclose()


async def test_given_a_cross_encoder_by_name_then_it_is_opened_at_the_start(
    tmp_path: Path,
) -> None:
    rerank = RerankSettings(model=str(a_scorer(tmp_path / "small")))
    settings = Settings(ragstone_data=tmp_path / "data", rerank=rerank)
    async with open_adapters(settings) as (adapters, _, _):
        judged = await adapters.reranker.judge(COLLECTION, QUESTION, CHUNKS)
        assert adapters.reranker.name == "small"
        assert int(np.argmax(judged.scores)) == 1
    (tmp_path / "small/onnx/model.onnx").unlink()
    with pytest.raises(ConfigError, match="RERANK__MODEL: there is no model.onnx"):
        async with open_adapters(settings):
            pass


async def test_given_the_former_name_of_its_setting_then_it_still_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK__MODEL_PATH", str(tmp_path))
    assert load().rerank.model == str(tmp_path)
