"""The table of settings: complete, typed, bounded."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import ConfigError, InvalidSetting, UnknownSetting
from ragstone.core.turn import SearchOptions
from ragstone.recipes import setting_table
from ragstone.recipes.stage_options import SETTABLE

PRINTED = {
    "rag.top_k": 10,
    "rag.similarity_threshold": 0.40,
    "rag.use_hybrid_search": True,
    "rag.query_expansion_enabled": False,
    "rag.hyde_enabled": False,
    "rag.knowledge_graph_enabled": False,
    "rag.verification_enabled": True,
    "rag.rrf_k": 30,
    "cache.enabled": True,
    "cache.max_entries": 1000,
    "cache.default_ttl_seconds": 300,
    "cache.threshold_mode": "adaptive",
    "conversation.query_rewriting_enabled": True,
    "conversation.db_rehydration_enabled": True,
    "conversation.max_history_turns": 15,
}
"""The pipeline document's configuration reference."""


@pytest.mark.parametrize("key", PRINTED)
@pytest.mark.conforms("Query pipeline", "Settings", "Every key with the printed default")
def test_given_a_key_of_the_pipeline_document_then_it_is_as_printed(key: str) -> None:
    one = setting_table.setting(key)
    assert one.default == PRINTED[key] or "pipeline document's 0.40" in one.help
    assert "global" in one.scopes


def test_given_the_table_then_every_row_says_what_it_is_and_how_it_changes() -> None:
    for item in setting_table.table().values():
        assert item.help, item.key
        assert item.kind, item.key
        assert item.restart is (not item.scopes)
        assert not (item.secret and item.scopes), "a secret must not be in the store"


def test_given_the_options_that_are_settings_then_each_is_one_of_its_stage() -> None:
    for name, options in SETTABLE.items():
        for option in options:
            assert f"stages.{name}.{option}" in setting_table.table()
    assert "stages.rerank.timeout" not in setting_table.table()


def test_given_what_a_request_may_ask_for_then_the_setting_says_so() -> None:
    assert all("request" in setting_table.setting(key).scopes for key in setting_table.REQUEST)


def test_given_the_bounds_of_a_request_then_they_are_those_of_the_table() -> None:
    bounds = SearchOptions.__dataclass_fields__["min_similarity"].metadata
    expected = f"at least {bounds['least']}, at most {bounds['most']}"
    assert setting_table.setting("rag.similarity_threshold").bounds == expected


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("rag.top_k", "7", ("rag.top_k", 7)),
        ("RAG_TOP_K", 7, ("rag.top_k", 7)),
        ("RAG__TOP_K", 7, ("rag.top_k", 7)),
        ("wcs.backend.rag_boost_knn", "1.5", ("rag.boost_knn", 1.5)),
        ("ENABLE_QUERY_REWRITING", "false", ("rag.rewrite", "none")),
        ("cache.default_ttl_seconds", "5m", ("cache.default_ttl_seconds", 300.0)),
        ("llm.temperature", "null", ("llm.temperature", None)),
        ("rag.rerank", "off", ("rag.rerank", False)),
        ("stages.deduplicate.near_duplicate", "0.9", ("stages.deduplicate.near_duplicate", 0.9)),
        ("stages.grade.near_duplicate", "0.9", ("stages.deduplicate.near_duplicate", 0.9)),
    ],
)
def test_given_a_value_then_it_is_read_in_its_type(name: str, value: Any, wanted: Any) -> None:
    assert setting_table.read(name, value) == wanted


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("rag.top_k", 0, "it must be at least 1"),
        ("rag.top_k", 101, "it must be at most 100"),
        ("rag.top_k", "many", "it must be a whole number"),
        ("rag.top_k", True, "must be whole number"),
        ("rag.top_k", None, "it must be a whole number"),
        ("rag.top_k", [1], "it must be a whole number"),
        ("rag.mode", "fancy", "'simple', 'advanced' or 'precise'"),
        ("rag.title_boost", "nan", "rag.title_boost"),
        ("cache.default_ttl_seconds", "inf", "finite number"),
        ("cache.default_ttl_seconds", float("inf"), "finite number"),
        ("rag.no_answer", "", "at least 1 character"),
        ("rag.no_answer", "x" * 20_001, "too long"),
        ("rag.no_answer", "half \ud800", "rag.no_answer"),
        ("rag.knowledge_graph_enabled", "perhaps", "it must be true or false"),
        ("spelling.enabled", 1, "must be true or false"),
        ("index.url", "x", "set INDEX__URL in its environment"),
        ("llm.api_key", "sk", "restart it"),
        ("ragstone_data", "/x", "set RAGSTONE_DATA"),
        ("server.host", "0.0.0.0", "set SERVER__HOST"),
        ("ensemble.models", "a", "set ENSEMBLE__MODELS"),
        ("ENABLE_QUERY_REWRITING", "perhaps", "neither true nor false"),
    ],
)
def test_given_a_value_that_cannot_be_then_an_error_says_why(
    name: str, value: Any, says: str
) -> None:
    with pytest.raises(InvalidSetting, match=says):
        setting_table.read(name, value)


def test_given_an_unknown_key_then_the_nearest_is_named() -> None:
    with pytest.raises(UnknownSetting, match="Do you mean 'rag.top_k'"):
        setting_table.read("rag.topk", 3)


def test_given_an_unknown_option_of_a_stage_at_the_start_then_an_error() -> None:
    with pytest.raises(ConfigError, match="stages.deduplicate.near_duplicate"):
        setting_table.check_options({"deduplicate": {"near_duplicates": 1}})


@given(
    st.text(max_size=50),
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists),
)
@pytest.mark.slow
def test_given_anything_then_a_setting_or_an_error_of_ours(name: str, value: Any) -> None:
    for key in (name, "rag.top_k", "rag.no_answer", "plone.content_types"):
        try:
            setting_table.read(key, value)
        except (InvalidSetting, UnknownSetting):
            continue
