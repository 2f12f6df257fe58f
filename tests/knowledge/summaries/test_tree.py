"""The tree of a document: every part of it is summed up by its own sentences."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.core.chunk import SUMMARY, SummaryNode, whole_trees
from ragstone.plugins.graph.summaries.tree import MAX_RUN, excerpt_text, sentences_of_few
from tests.knowledge.summaries.long_document import document, node_chunks, section_text, tree


@given(st.integers(1, 90))
@settings(deadline=None, max_examples=40)
def test_every_chunk_stands_under_one_node_of_each_level_and_the_root_is_over_all(n: int) -> None:
    nodes = tree(document(n))
    assert [node.number for node in nodes] == list(range(len(nodes)))
    assert {node.count for node in nodes} == {len(nodes)}
    for level in range(1, nodes[-1].level + 1):
        those = [node for node in nodes if node.level == level]
        assert [item.first for item in those] == [0, *(item.last + 1 for item in those[:-1])]
        assert those[-1].last == n - 1
    for node in nodes:
        assert len(node.children or range(node.first, node.last + 1)) <= MAX_RUN
        for child in node.children:
            assert (nodes[child].level, child < node.number) == (node.level - 1, True)
        if node.children:
            edges = (nodes[node.children[0]].first, nodes[node.children[-1]].last)
            assert edges == (node.first, node.last)


@given(st.integers(1, 60))
@settings(deadline=None, max_examples=20)
def test_what_a_node_says_are_sentences_of_its_children_each_where_it_stands(n: int) -> None:
    chunks = document(n)
    whole = "\n\n".join(section_text(number) for number in range(n))
    nodes = tree(chunks)
    for node in nodes:
        assert node.said
        below = {item for child in node.children for item in nodes[child].said}
        assert not node.children or below.issuperset(node.said)
        assert len({item.chunk_index for item in node.said}) == len(node.said)
        for item in node.said:
            assert node.first <= item.chunk_index <= node.last
            said = whole[item.start : item.end]
            assert said == excerpt_text(item, chunks[item.chunk_index])
            assert said.startswith(("The ", "Every "))
            assert said.endswith(".")


def test_given_the_same_chunks_then_the_tree_is_the_same() -> None:
    assert tree(document(50)) == tree(document(50))


def test_a_node_comes_back_from_the_index_as_it_was() -> None:
    chunks = document(30)
    for node, chunk in zip(tree(chunks), node_chunks(chunks), strict=True):
        assert SummaryNode.decode(chunk.layout) == node
        assert (chunk.kind, chunk.revision) == (SUMMARY, chunks[0].revision)
        assert (chunk.start, chunk.end) == (chunks[node.first].start, chunks[node.last].end)
        sections = {item.section for item in chunks[node.first : node.last + 1]}
        assert all(section[: len(chunk.section)] == chunk.section for section in sections)


def test_given_a_node_is_missing_or_of_another_tree_then_there_is_no_tree() -> None:
    nodes = node_chunks(document(30))
    assert list(whole_trees(nodes)) == ["long@1"]
    assert whole_trees(nodes[:-1]) == {}
    assert whole_trees(nodes[1:]) == {}
    other = replace(SummaryNode.decode(nodes[0].layout), recipe="another")
    assert whole_trees([replace(nodes[0], layout=other.encode()), *nodes[1:]]) == {}


def test_given_a_table_of_contents_and_a_repetition_then_neither_is_said() -> None:
    chunks = document(4)
    contents = replace(chunks[0], kind="toc")
    same = replace(chunks[2], text=chunks[1].text, end=chunks[2].start + len(chunks[1].text))
    said = sentences_of_few([contents, chunks[1], same, chunks[3]])
    assert 0 not in {item.chunk_index for item in said}
    texts = [
        excerpt_text(item, [contents, chunks[1], same, chunks[3]][item.chunk_index])
        for item in said
    ]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("text", ["ACME CORP 10-K", "12 March 2025", "| 1 | 2 | 3 |", ""])
def test_given_no_sentence_then_nothing_is_said(text: str) -> None:
    [chunk] = document(1)
    assert sentences_of_few([replace(chunk, text=text, end=len(text))]) == []
