"""Code in an answer: where it stands, and how it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.code_blocks import (
    block_code,
    ends_fence,
    fence_around,
    find_fenced_blocks,
    mask_code,
    span_end,
)
from ragstone.language.markers import citation_numbers, sentences_with_citations, strip_markers
from ragstone.language.sentences import sentences

ANSWER = "Install it: [1]\n```sh\npip install x[2]\n# done. Really.\n```\nThat is all. [3]"


def test_a_fenced_block_is_one_sentence_that_cites_nothing() -> None:
    assert [ANSWER[s.start : s.end] for s in sentences(ANSWER)][1].startswith("```sh\npip")
    assert citation_numbers(ANSWER) == [1, 3]
    assert [cited for _, cited in sentences_with_citations(ANSWER)] == [[1], [], [3]]
    assert "x[2]" in strip_markers(ANSWER)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("a\n```\nb\n```\nc", ["```\nb\n```"]),
        ("~~~\n```\n~~~\nc", ["~~~\n```\n~~~"]),
        ("````\n```\n````", ["````\n```\n````"]),
        ("```\nnever closed", ["```\nnever closed"]),
        ("    ```\nb\n    ```", []),
        ("```markdown\nThe answer. [1]\n```", []),
        ("no code `here`", []),
    ],
)
def test_blocks_are_found_as_commonmark_has_them(text: str, blocks: list[str]) -> None:
    assert [text[slice(*block)] for block in find_fenced_blocks(text)] == blocks


@given(st.text(alphabet="a`~\n [1]", max_size=60), st.sampled_from(["", "python", "no name!"]))
def test_whatever_is_put_into_a_fence_comes_out_of_it(code: str, language: str) -> None:
    block = fence_around(code, language)
    assert list(find_fenced_blocks(f"x\n{block}\ny")) == [(2, 2 + len(block))]
    assert block_code(block) == code.strip("\n") or block_code(block) == code
    assert not any(ends_fence(block.split("\n")[-1], line) for line in code.split("\n"))


@given(st.text(alphabet="a`~\n [1]", max_size=60))
def test_text_without_code_has_its_length(text: str) -> None:
    assert len(mask_code(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "final", "end"),
    [
        ("`a` b", False, 3),
        ("`a`", False, None),
        ("`a`", True, 3),
        ("``a`b`` c", False, 7),
        ("`a\n` b", False, 0),
        ("`a", True, 0),
        ("`" + "a" * 600 + "`", False, 0),
    ],
)
def test_a_span_of_code_ends_in_its_line(text: str, final: bool, end: int | None) -> None:
    assert span_end(text, 0, final) == end
