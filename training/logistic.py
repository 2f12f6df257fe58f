"""Logistic regression by Newton's method, for the few weights of which Ragstone ships some."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEPS = 60
NEAR = 1e-6
"""A step so small ends it."""


def fit_logistic(rows: Floats, right: Floats, mass: Floats, decay: Floats | float = 0.0) -> Floats:
    """Return the weights of the columns that make the labels (0 or 1) likeliest, each row counting
    by its mass; `decay` pulls a weight to nothing. A column of ones gives the constant."""
    weights = np.zeros(rows.shape[1])
    pull = np.broadcast_to(np.asarray(decay, np.float64), weights.shape)
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (mass * (likely - right)) + pull * weights
        bend = (rows * (mass * likely * (1 - likely))[:, None]).T @ rows + np.diag(pull)
        step = np.linalg.solve(bend, slope)
        weights -= step
        if np.abs(step).max() < NEAR:
            break
    return weights
