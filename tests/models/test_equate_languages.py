"""Questions whose vectors say nothing of the language that they are asked in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.models.multilingual import MultilingualE5, _language_means

EMBEDDER = MultilingualE5()
LANGUAGES, MEANS = _language_means()


def random_vectors(seed: int, count: int = 3) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    found = np.random.default_rng(seed).normal(size=(count, EMBEDDER.dimensions))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@given(st.integers(0, 1000), st.sets(st.sampled_from(LANGUAGES), min_size=2, max_size=8))
def test_given_languages_then_none_is_nearer_than_another(seed: int, languages: set[str]) -> None:
    vectors = EMBEDDER.equate_languages(random_vectors(seed), languages)
    near = vectors @ MEANS[[LANGUAGES.index(language) for language in languages]].T
    assert np.ptp(near, axis=1).max() < 1e-3
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("languages", [(), ("de",), ("de", "tlh"), ("",)])
def test_given_no_two_known_languages_then_nothing_changes(languages: tuple[str, ...]) -> None:
    vectors = random_vectors(1)
    assert EMBEDDER.equate_languages(vectors, languages) == pytest.approx(vectors)


@pytest.mark.slow
async def test_given_a_question_then_what_answers_it_is_nearer_than_what_is_in_its_language() -> (
    None
):
    [question] = await EMBEDDER.embed_queries(["Wie lange hält die Batterie?"])
    passages = await EMBEDDER.embed_passages(
        [
            "The battery lasts 31 days, then it has to be charged.",
            "Die Kantine hat montags bis freitags von 11 bis 14 Uhr geöffnet.",
            "El restaurante abre de lunes a viernes de 11 a 14 horas.",
        ]
    )
    equated = EMBEDDER.equate_languages(question[None], ("de", "en", "es"))[0]
    answer, own, other = passages @ equated
    assert answer - max(own, other) > (passages @ question)[0] - (passages @ question)[1:].max()
    assert answer > max(own, other)
