"""What is known of chat models by their names, and what their calls cost."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.usage import RequestUsage

from ragstone.core.answer import Usage
from ragstone.core.errors import ConfigError
from ragstone.models.profiles import find_profile, own_rows, profile, size_tier
from ragstone.models.reply import Prices
from ragstone.ports import Profile
from ragstone.service.wire import usage
from ragstone.settings import LlmSettings

PRINTED = {
    "llama3.2:latest": (8_000, 0.3, 0.7),
    "llama3.1:latest": (8_000, 0.5, 0.8),
    "mistral:latest": (8_000, 0.5, 0.8),
    "qwen2.5:latest": (32_000, 0.7, 0.95),
    "gpt-4": (128_000, 0.7, 0.9),
    "claude-3-opus": (200_000, 0.7, 0.9),
}


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.conforms("Query pipeline", "Step 9", "Windows and sampling of the printed models")
def test_given_a_printed_row_then_its_window_and_sampling(name: str) -> None:
    found = find_profile(name)
    assert (found.context_window, found.temperature, found.top_p) == PRINTED[name]


@pytest.mark.parametrize(
    ("name", "tier"),
    [
        ("llama3.2:latest", "tiny"),
        ("llama3.2:1b", "tiny"),
        ("qwen2.5:7b", "small"),
        ("gemma2-9b", "small"),
        ("qwen2.5:14b", "medium"),
        ("yi:34b", "medium"),
        ("meta-llama/Llama-3.1-70B-Instruct", "large"),
        ("gpt-4", "large"),
        ("openai:gpt-4o-mini", "medium"),
        ("anthropic:claude-3-opus-20240229", "large"),
        ("nobody-knows-me", "small"),
        ("nobody-knows-me-2b", "tiny"),
    ],
)
def test_given_a_name_then_its_tier(name: str, tier: str) -> None:
    assert find_profile(name).tier == tier


@given(st.floats(0.01, 2000))
def test_given_a_size_then_the_tiers_are_in_order(size: float) -> None:
    order = ["tiny", "small", "medium", "large"]
    assert order.index(size_tier(size)) <= order.index(size_tier(size + 1))
    assert (size_tier(3), size_tier(9), size_tier(34), size_tier(34.1)) == tuple(order)


def test_given_several_rows_then_the_longest_pattern_decides() -> None:
    assert find_profile("gpt-4-0613").context_window == 8192
    assert find_profile("openai/gpt-4o").context_window == 128_000
    own = own_rows('{"qwen": {"context_window": 9000}, "qwen2.5": {"top_p": 0.5}}')
    assert find_profile("qwen2.5:7b", own) == Profile(32_000, 0.7, 0.5, "small", tokenizer="qwen3")
    assert find_profile("qwen1.5-110b", own).context_window == 9000


def test_given_single_settings_then_they_override_every_row(tmp_path: Path) -> None:
    file = tmp_path / "profiles.json"
    rows = {"mine": {"tier": "large", "temperature": 0.2, "input_price": 1, "output_price": 2}}
    file.write_text(json.dumps(rows))
    settings = LlmSettings(model="mine:v2", profiles=str(file), context_window=4000)
    assert profile(settings) == Profile(4000, 0.2, None, "large", 0, 1.0, 2.0)
    assert profile(LlmSettings(model="gpt-4", temperature=0.0)).temperature == 0.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{", "LLM__PROFILES is wrong"),
        ('{"x": {"window": 5}}', "x.window"),
        ('{"x": {"context_window": 5}}', "context_window"),
        ("/no/such/file.json", "cannot be read"),
    ],
)
def test_given_wrong_profiles_then_the_error_names_what(given: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        own_rows(given)


MILLION = RequestUsage(input_tokens=1_000_000, output_tokens=1_000_000)


@pytest.mark.parametrize(
    ("model", "provider", "url", "dollars"),
    [
        ("gpt-4", "openai", "", 90.0),
        ("claude-3-opus-20240229", "anthropic", "", 90.0),
        ("gpt-4", "openai", "https://api.openai.com/v1", 90.0),
        ("openai/gpt-4", "openai", "http://gateway.example/v1", 90.0),
        ("mistral:latest", "openai", "http://127.0.0.1:11434/v1", None),
        ("qwen2.5-7b-instruct-of-mine", "openai", "http://127.0.0.1:8000/v1", None),
    ],
)
def test_given_a_published_price_then_the_cost_in_dollars(
    model: str, provider: str, url: str, dollars: float | None
) -> None:
    assert Prices(Profile(), model, provider, url).cost(MILLION) == dollars


def test_given_prices_of_ones_own_then_they_hold() -> None:
    own = Profile(input_price=1.5, output_price=3.0)
    used = RequestUsage(input_tokens=2000, output_tokens=1000)
    assert Prices(own, "gpt-4", "openai").cost(used) == pytest.approx(0.006)


def test_given_one_call_of_unknown_price_then_the_sum_is_unknown() -> None:
    known, unknown = Usage(10, 5, 1, 0.25), Usage(10, 5, 1)
    assert (Usage() + known + known).cost == 0.5
    assert (known + unknown).cost is None
    assert (unknown + known + known).cost is None
    assert (Usage() + Usage()).cost is None


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-mini", "o200k_base"),
        ("openai:gpt-5", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("llama3.2:latest", "llama3"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3"),
        ("qwen2.5:7b", "qwen3"),
        ("deepseek-r1-distill-qwen-7b", "qwen3"),
        ("deepseek-chat", "deepseek_v3"),
        ("mistral:latest", "mistral_v3"),
        ("gemma2:9b", "gemma3"),
        ("anthropic:claude-3-opus", None),
        ("", None),
    ],
)
def test_given_a_models_name_then_the_tokenizer_that_it_has(model: str, family: str | None) -> None:
    assert find_profile(model).tokenizer == family


def test_given_a_server_that_does_not_count_then_the_sum_is_unknown() -> None:
    unknown = Usage(calls=1, counted=False)
    assert not (Usage(10, 5, 1) + unknown).counted
    assert usage(Usage(10, 5, 1) + unknown) is None
    assert usage(Usage()) == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
