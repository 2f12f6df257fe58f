"""What tools say and take, whatever it is."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import InputError, TooLarge
from ragstone.core.filters import And, AnyOf, path_filter
from ragstone.core.foreign_passages import from_kdb, to_kdb
from ragstone.core.source import hit_sources
from ragstone.core.tool import Tool
from ragstone.core.turn import Ask, Plan
from ragstone.http.dialects.pictures import image_type, pictures
from ragstone.language.code_blocks import TOOL_OUTPUT, fence_text
from ragstone.plugins.agent.search_tools import (
    inject_arguments,
    is_search,
    parameters,
    tool_for_model,
)
from tests.engine.samples import a_hit

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=10,
)
SCHEMA = st.dictionaries(
    st.sampled_from(["properties", "required", "type", "x"]),
    JSON | st.dictionaries(st.sampled_from(["query", "collection_name", "top_k", "a"]), JSON),
)


@given(st.text() | st.sampled_from(["</tool_output>", "< / TOOL_OUTPUT >", "<tool_output"]))
def test_given_any_output_then_it_cannot_close_its_fence(text: str) -> None:
    inside = fence_text(TOOL_OUTPUT, text, "add").removeprefix('<tool_output tool="add">\n')
    assert inside.count("</tool_output>") == 1
    assert inside.endswith("\n</tool_output>")


@given(SCHEMA, st.dictionaries(st.text(max_size=12), JSON))
@pytest.mark.slow
def test_given_any_schema_then_what_the_request_decides_is_not_the_models(
    schema: dict[str, Any], asked: dict[str, Any]
) -> None:
    tool, known = Tool("t", "", schema), parameters(Ask("q", collection="mine"), Plan())
    assert known is not None
    if is_search(tool):
        given_arguments = inject_arguments(tool, {**asked, "collection_name": "theirs"}, known)
        assert given_arguments["collection_name"] == "mine"
    assert "collection_name" not in tool_for_model(tool).parameters["properties"]


def test_given_a_filter_then_it_can_be_told_only_if_it_is_one_condition_on_the_metadata() -> None:
    one = AnyOf("metadata.class", ("Law",))
    for where in (one, And((one,))):
        known = parameters(Ask("q", where=where), Plan())
        assert known is not None
        assert (known["metadata_filter_key"], known["match_values"]) == ("class", ["Law"])
    for where in (path_filter("/a"), And((one, one)), AnyOf("path", ("/a",))):
        assert parameters(Ask("q", where=where), Plan()) is None


@given(st.binary(max_size=40))
def test_given_any_bytes_then_a_type_or_none(data: bytes) -> None:
    assert image_type(data) in (None, "image/png", "image/jpeg", "image/gif", "image/webp")
    assert image_type(b"RIFF0000WEBP" + data) == "image/webp"


@given(st.lists(st.text(max_size=60), max_size=10))
def test_given_any_texts_as_images_then_an_error_that_says_so(given_texts: list[str]) -> None:
    with suppress(InputError, TooLarge):
        assert pictures(given_texts) == ()


def test_given_a_passage_then_the_knowledge_bases_form_comes_back_as_it_was() -> None:
    hit = a_hit("Ost was built in 1871.", 0.5, title="Ost", metadata={"class": "Law"})
    (source,) = hit_sources([hit])
    row = to_kdb(source)
    again = from_kdb(row, Ask("q"), 0)
    assert (again.chunk.text, again.score) == (hit.chunk.text, hit.score)
    assert again.chunk.metadata["class"] == "Law"
    assert again.chunk.path == hit.chunk.path
