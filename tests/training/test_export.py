"""The network is drawn as sure as it is right."""

import numpy as np

from training.reader.export import _temper_rows


def test_logits_that_are_too_sure_are_divided_by_as_much() -> None:
    chance = np.random.default_rng(1)
    sure = chance.normal(0, 2, 40_000)
    right = chance.random(len(sure)) < 1 / (1 + np.exp(-sure))
    asked = np.arange(len(sure)) % 2 == 0
    logits = np.zeros((len(sure), 4), np.float32)
    logits[:, 0] = 1.8 * sure
    logits[:, 1] = 1.8 * sure + np.log(2)
    answers = np.where(asked, right, -1)
    verdict = np.where(asked, -1, np.where(right, 0, 3))
    labels = np.stack([answers, answers * 0, answers * 0, verdict], 1).astype(np.int32)
    weights = {"out.weight": np.ones((4, 2), np.float32), "out.bias": np.ones(4, np.float32)}

    tempered = _temper_rows(weights, logits, labels)

    assert np.allclose(tempered["out.weight"], 1 / 1.8, atol=0.02)
    assert np.allclose(tempered["out.bias"], 1 / 1.8, atol=0.06)
