"""What source sentences hold of a claim, as numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragstone.verify.evidence import Evidence
from ragstone.verify.support import FEATURES, common_subsequence, support
from ragstone.verify.terms import terms

BRIDGE = "The old bridge over the Rhine was built in 1890 by Anna Keller."
MARKET = "The market opens at nine."


def held(claim: str, *sources: str, feature: str) -> float:
    found = support(claim, terms(claim), Evidence.of(sources))
    assert found is not None
    return found[feature]


def test_given_the_same_words_then_all_is_held() -> None:
    for feature in ("all", "best", "names_all", "quantities_all", "order", "weakest_clause"):
        assert held(BRIDGE, MARKET, BRIDGE, feature=feature) == 1


def test_given_another_number_name_or_polarity_then_that_is_seen() -> None:
    assert held(BRIDGE.replace("1890", "1891"), BRIDGE, feature="quantity_replaced") == 1
    assert held(BRIDGE.replace("Rhine", "Danube"), BRIDGE, feature="name_replaced") == 1
    assert held(BRIDGE.replace("was built", "was not built"), BRIDGE, feature="negated") == 1
    assert held(MARKET.replace("opens", "closes"), MARKET, feature="opposed") == 1


def test_given_numbers_that_changed_places_then_that_is_seen() -> None:
    source = "Sales grew from 5 million in May to 8 million in June."
    swapped = "Sales grew from 8 million in May to 5 million in June."
    assert held(source, source, feature="quantity_replaced") == 0
    assert held(swapped, source, feature="quantity_replaced") == 1


def test_given_other_forms_and_synonyms_then_most_is_held() -> None:
    assert held("She purchased a car.", "She buys cars.", feature="all") > 0.7
    assert held("The Kenyan team won.", "The team of Kenya wins.", feature="all") > 0.7


def test_given_a_title_then_its_words_count_for_its_sentences() -> None:
    claim = terms("The Rhine bridge opened.")
    alone = support("", claim, Evidence.of(["It opened."]))
    titled = support("", claim, Evidence.of(["It opened."], ["The Rhine bridge"]))
    assert alone is not None
    assert titled is not None
    assert titled["best"] > alone["best"]


def test_given_preferred_sentences_then_one_of_equals_is_the_best() -> None:
    found = support(MARKET, terms(MARKET), Evidence.of([MARKET, BRIDGE, MARKET]), (2,))
    assert found is not None
    assert found.best == 2


def test_given_nothing_to_compare_then_there_is_no_support() -> None:
    assert support("", terms(""), Evidence.of([BRIDGE])) is None
    assert support(MARKET, terms(MARKET), Evidence.of([])) is None


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=4))
def test_any_texts_give_shares(claim: str, sources: list[str]) -> None:
    found = support(claim, terms(claim), Evidence.of(sources))
    if found is not None:
        assert found.values.shape == (len(FEATURES),)
        assert np.isfinite(found.values).all()
        assert ((found.values >= 0) & (found.values <= 1)).all()
        assert 0 <= found.best < len(sources)


@given(st.lists(st.sampled_from("abc"), max_size=9), st.lists(st.sampled_from("abc"), max_size=9))
def test_the_common_subsequence_is_the_longest(one: list[str], other: list[str]) -> None:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, x in enumerate(one):
        for j, y in enumerate(other):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
            )
    assert common_subsequence(one, other) == table[-1][-1]
