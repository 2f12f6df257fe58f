"""From verdicts on claims to one on the answer."""

from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.answer import Label, Statement, Verdict
from ragstone.verify.groundedness import (
    build_support_statement,
    groundedness,
    is_grounded,
    response_score,
)


def said(label: Label, confidence: float = 0.9) -> Verdict:
    return Verdict("A sentence.", label, confidence)


def test_given_verdicts_then_the_share_of_what_is_supported() -> None:
    assert groundedness([said("supported"), said("unsupported"), said("no_claim")]) == 0.5
    assert groundedness([said("supported"), said("partly")]) == 0.75
    assert groundedness([said("supported", 0.9), said("contradicted", 0.3)]) == 0.75


def test_given_no_claims_then_it_is_grounded() -> None:
    assert groundedness([]) == 1
    assert is_grounded([said("no_claim")])


def test_given_a_contradiction_then_it_is_not_grounded() -> None:
    assert is_grounded([said("supported")] * 9)
    assert not is_grounded([*[said("supported")] * 9, said("contradicted")])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_score_lies_between_the_least_and_the_greatest(probabilities: list[float]) -> None:
    low, high = min(probabilities), max(probabilities)
    least, most = (min(0.999, max(0.001, item)) for item in (low, high))
    assert least - 1e-6 <= response_score(probabilities) <= most + 1e-6


def test_given_one_bad_claim_among_good_ones_then_it_decides() -> None:
    assert response_score([]) == 1
    assert response_score([0.9, 0.9, 0.9, 0.1]) < 0.2


def test_given_verdicts_then_the_worst_claim_says_how_likely_all_is_supported() -> None:
    assert build_support_statement([said("supported", 0.99)]) == Statement(True, 0.99)
    mixed = build_support_statement([said("supported", 0.99), said("unsupported", 0.9)])
    assert not mixed.holds
    assert mixed.confidence < 0.2
    assert build_support_statement([said("no_claim")]).holds
