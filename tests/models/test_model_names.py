"""What names of chat models tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.models.profiles import matches_name, normalize_name, parse_billions


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("qwen2.5:7b", 7),
        ("llama-3.1-8b-instruct", 8),
        ("gemma2-9b", 9),
        ("meta-llama/Llama-3.2-1B-Instruct", 1),
        ("SmolLM2-135M-Instruct", 0.135),
        ("phi3:3.8b-mini-4k-instruct-q4_K_M", 3.8),
        ("mixtral-8x7b-instruct", 56),
        ("qwen3-30b-a3b", 30),
        ("gemma-3n-E2B-it", 2),
        ("gpt-oss:120b", 120),
        ("kimi-k2-1t", 1000),
        ("Qwen2.5-0.5B", 0.5),
        ("deepseek-r1-distill-qwen-1.5b", 1.5),
        ("llama_3_8b", 8),
        ("gpt-4", None),
        ("claude-3-opus-20240229", None),
        ("model-8bit", None),
        ("mistral:latest", None),
        ("", None),
    ],
)
def test_given_a_name_then_its_size(name: str, size: float | None) -> None:
    assert parse_billions(name) == (size and pytest.approx(size))


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("llama3.1", "meta-llama/Llama-3.1-8B", True),
        ("llama3.1", "llama3.10", False),
        ("mistral", "mistralai/Mixtral-8x7B", False),
        ("mistral", "mistralai/Mistral-7B", True),
        ("gpt-4", "gpt-4o", True),
        ("yi", "yixuan", False),
        ("gpt-4", "openai:gpt-4-0613", True),
        ("gpt-4", "chatgpt-4", False),
        ("o1", "o1-mini", True),
        ("o1", "solo1", False),
        ("", "anything", False),
    ],
)
def test_given_a_pattern_then_it_stands_as_whole_words(
    pattern: str, name: str, expected: bool
) -> None:
    assert matches_name(pattern, name) is expected


@given(st.text(max_size=400), st.text(max_size=20))
def test_given_any_name_then_nothing_raises(name: str, pattern: str) -> None:
    assert parse_billions(name) is None or parse_billions(name) > 0  # type: ignore[operator]
    matches_name(pattern, name)
    assert normalize_name(normalize_name(name)) == normalize_name(name)
