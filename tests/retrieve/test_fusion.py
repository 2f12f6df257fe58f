"""Score fusion: bounded, fair, and no better for being repeated."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragstone.core.turn import Ask, Fusion, RankedList, Scored, Turn
from ragstone.retrieve.fusion import FusionWeights, fuse, scale_scores
from ragstone.retrieve.retrieve import ListFusion
from tests.engine.samples import a_hit


def a_list(source: str, **scores: float) -> RankedList:
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    return RankedList(source, "q", tuple(Scored(*item) for item in ordered))  # type: ignore[arg-type]


def test_given_bm25_scores_then_they_are_shares_of_the_best() -> None:
    assert scale_scores(a_list("bm25", a=8, b=4, c=2)) == {"a": 1.0, "b": 0.5, "c": 0.25}


def test_given_cosines_then_they_are_scaled_between_worst_and_best() -> None:
    assert scale_scores(a_list("dense", a=0.9, b=0.8, c=0.7)) == pytest.approx(
        {"a": 1.0, "b": 0.5, "c": 0.0}
    )


def test_given_a_chunk_in_one_list_only_then_the_other_gives_it_nothing() -> None:
    fused = fuse([a_list("dense", a=0.9, b=0.1), a_list("bm25", c=3.0)], FusionWeights(0.4))
    assert fused == pytest.approx({"c": 0.6, "a": 0.4, "b": 0.0})
    assert list(fused) == ["c", "a", "b"]


def test_given_one_kind_of_list_only_then_it_has_all_the_weight() -> None:
    assert fuse([a_list("bm25", a=2.0)], FusionWeights(0.4)) == {"a": 1.0}
    assert fuse([a_list("dense", a=0.2, b=0.1)], FusionWeights(0.4)) == {"a": 1.0, "b": 0.0}
    assert fuse([], FusionWeights(0.4)) == {}


@pytest.mark.conforms("V5", "4. Hybrid Retriever", "RRF of vector and BM25 lists")
@pytest.mark.conforms("Query pipeline", "Step 6", "Reciprocal rank fusion with k = 30")
def test_given_ranks_then_places_count_and_the_first_of_every_list_has_1() -> None:
    ranked = [a_list("dense", a=0.9, b=0.89), a_list("bm25", a=50.0, b=0.1)]
    fused = fuse(ranked, FusionWeights(0.5, fusion="ranks", rrf_k=30))
    assert fused == pytest.approx({"a": 1.0, "b": 31 / 32})


def test_given_a_title_boost_then_a_title_that_says_it_all_counts_that_much_more() -> None:
    said = a_hit("a", title="Opening hours", chunk_id="a")
    other = a_hit("b", title="Contact", chunk_id="b")
    chunks = {hit.chunk.chunk_id: hit.chunk for hit in (said, other)}
    turn = Turn(Ask("Opening hours"), queries=("Opening hours",), chunks=chunks)
    for boost in (0.0, 1.0, 3.0):
        hits = ListFusion(30, boost)._hits(turn, dict.fromkeys(chunks, 0.5))
        scores = {hit.chunk.title: hit.score for hit in hits}
        assert scores["Opening hours"] / scores["Contact"] == pytest.approx(1 + boost)


def test_given_the_same_in_other_words_then_a_chunk_gets_the_weighted_mean() -> None:
    first, second = a_list("bm25", a=2.0, b=1.0), a_list("bm25", b=8.0, c=2.0)
    fused = fuse([first, replace(second, query="other")], FusionWeights(others=0.6))
    assert fused == pytest.approx({"b": 1.1 / 1.6, "a": 1 / 1.6, "c": 0.15 / 1.6})


def test_given_queries_for_parts_then_a_chunk_keeps_its_best_score() -> None:
    first, second = a_list("bm25", a=2.0, b=1.0), a_list("bm25", b=8.0, c=2.0)
    fused = fuse([first, replace(second, query="other")], FusionWeights(parts=True))
    assert fused == pytest.approx({"a": 1.0, "b": 1.0, "c": 0.25})


def test_given_a_refined_search_then_it_takes_its_part_of_the_share_of_meaning() -> None:
    ranked = [a_list("dense", a=0.9, b=0.1), a_list("feedback", b=0.9, c=0.1), a_list("bm25", c=1)]
    fused = fuse(ranked, FusionWeights(0.4, feedback=0.25))
    assert fused == pytest.approx({"a": 0.3, "b": 0.1, "c": 0.6})


names = st.text("abcdef", min_size=1, max_size=1)
lists = st.lists(
    st.builds(
        lambda source, scores: a_list(source, **scores),
        st.sampled_from(["dense", "bm25", "feedback"]),
        st.dictionaries(names, st.floats(0, 50), max_size=6),
    ),
    max_size=4,
)


@given(lists, st.floats(0, 1), st.floats(0, 1), st.sampled_from(["scores", "ranks"]))
def test_fused_scores_lie_in_0_to_1_and_fall(
    ranked: list[RankedList], weight: float, feedback: float, method: Fusion
) -> None:
    fused = fuse(ranked, FusionWeights(weight, feedback, method))
    scores = list(fused.values())
    assert set(fused) == {s.chunk_id for r in ranked for s in r.found}
    assert all(0 <= score <= 1 + 1e-9 for score in scores)
    assert scores == sorted(scores, reverse=True)


@given(lists, st.floats(0, 1), st.floats(0, 1), st.sampled_from(["scores", "ranks"]))
@example([a_list("dense", a=0.0)], 5e-324, 0.0, "scores")
def test_a_list_given_twice_changes_nothing(
    ranked: list[RankedList], weight: float, feedback: float, method: Fusion
) -> None:
    weights = FusionWeights(weight, feedback, method)
    assert fuse(ranked * 2, weights) == pytest.approx(fuse(ranked, weights))
