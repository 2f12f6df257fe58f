"""How alike a question and a forbidden topic are, on a scale whose steps have a meaning."""

import numpy as np
from numpy.typing import NDArray

EXACT, SYNONYM, CONTEXTUAL = 0.95, 0.80, 0.50

_SIMILARITY = (0.40, 0.65, 0.78, 1.00)
_SCORE = (0.0, 0.30, CONTEXTUAL, SYNONYM, EXACT, 1.0)
"""Measured with a list of 60 topics against questions on other subjects, by the bundled embedders:
2 % of such questions reach .30 (cosines .49 and .885), 1 in 300 reaches .50 (.62 and .906); half
of the questions on a topic reach .80 (.77 and .945)."""

_SAME = 0.8
"""How far the same words in another form are from nearly equal texts to equal ones."""

_MAX_LIKENESS = 0.999


def likeness(cosines: NDArray[np.float32], scale: tuple[float, float]) -> NDArray[np.float32]:
    """Scores 0..1 of cosines; `scale` is what an embedder gives unrelated and nearly equal texts.

    .95 is nearly the same words, .80 the same thing in other words, .50 the same subject, and .30
    is worth a second look.
    """
    low, high = scale[0], min(scale[1], _MAX_LIKENESS)
    places = [low + share * (high - low) for share in _SIMILARITY]
    scores = np.interp(cosines, [*places, high + _SAME * (1 - high), 1.0], _SCORE)
    return np.asarray(scores, np.float32)
