"""How likely texts are, in a process that has no embedder."""

import pytest

from ragstone.models import text_likelihood
from ragstone.models.e5_weights import E5Weights


def test_given_many_texts_when_compared_then_the_model_is_loaded_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[E5Weights] = []
    opens = text_likelihood.open_weights

    def count_and_open() -> E5Weights:
        loaded.append(opens())
        return loaded[-1]

    monkeypatch.setattr(text_likelihood, "open_weights", count_and_open)
    text_likelihood._load_vocabulary.cache_clear()
    scores = [text_likelihood.text_likelihood(text) for text in ("Grüße", "GrÃ¼ÃŸe", "GrЃяe")]

    assert len(loaded) == 1
    assert scores[0] == max(scores)
