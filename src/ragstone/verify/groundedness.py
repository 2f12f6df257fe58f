"""From verdicts on single claims to one on the whole answer."""

from collections.abc import Sequence

from ragstone.core.answer import Statement, Verdict

MIN_GROUNDEDNESS = 0.8
"""The groundedness from which an answer counts as grounded, unless something in it is
contradicted."""

MIN_SUPPORT = 0.55
"""The probability from which a claim counts as supported if nobody can be asked, and the
`response_score` from which all of a response does."""

SHARPNESS = 4
"""How near `response_score` is to the least probability: 1 would be the mean of the odds."""

_WORTH = {"supported": 1.0, "partly": 0.5, "unsupported": 0.0, "contradicted": 0.0}
# The odds against a certain claim would be none, those against an impossible one infinite.
_MAX_PROBABILITY = 0.999


def groundedness(verdicts: Sequence[Verdict]) -> float:
    """The share of the claims that is supported, 0..1, each weighed by how sure its verdict is.

    A claim that is supported in part counts half. An answer that claims nothing is grounded.
    """
    claims = [verdict for verdict in verdicts if verdict.label != "no_claim"]
    sure = sum(claim.confidence for claim in claims)
    if not sure:
        return 0.0 if claims else 1.0
    return sum(_WORTH[claim.label] * claim.confidence for claim in claims) / sure


def build_support_statement(verdicts: Sequence[Verdict]) -> Statement:
    """Tell whether the sources say what is claimed, and how likely they say all of it."""
    claims = [verdict for verdict in verdicts if verdict.label != "no_claim"]
    return Statement(
        is_grounded(verdicts), round(response_score([likelihood(c) for c in claims]), 4)
    )


def likelihood(verdict: Verdict) -> float:
    """Tell how likely the sources say it, where the confidence is that of the label."""
    sure = verdict.confidence
    return sure if verdict.label == "supported" else 1 - sure


def is_grounded(verdicts: Sequence[Verdict]) -> bool:
    """Tell whether an answer is grounded."""
    return groundedness(verdicts) >= MIN_GROUNDEDNESS and all(
        v.label != "contradicted" for v in verdicts
    )


def response_score(probabilities: Sequence[float]) -> float:
    """Tell how likely all of a response is supported: a soft minimum of its claims' probabilities.

    The power mean of the odds against each. With one claim it is its probability; of several the
    worst one decides, a little less the more others there are that are well supported. 1 without
    claims.
    """
    if not probabilities:
        return 1.0
    against = [
        (1 - p) / p
        for p in (
            min(_MAX_PROBABILITY, max(1 - _MAX_PROBABILITY, probability))
            for probability in probabilities
        )
    ]
    mean = sum(item**SHARPNESS for item in against) / len(against)
    odds: float = mean ** (1 / SHARPNESS)
    return 1 / (1 + odds)
