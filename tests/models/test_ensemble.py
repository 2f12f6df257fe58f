"""The models that vote, as the settings name them."""

import pytest

from ragstone.core.errors import ConfigError
from ragstone.models.configured_chat import ensemble
from ragstone.settings import LlmSettings, Settings
from ragstone.settings.rag import EnsembleSettings


def settings(models: str, **llm: str) -> Settings:
    return Settings(llm=LlmSettings(**llm), ensemble=EnsembleSettings(models=models))


def test_given_models_by_comma_then_each_once_at_the_same_server() -> None:
    members = ensemble(settings("llama3.1:8b, qwen2.5:7b,, llama3.1:8b", base_url="http://x/v1"))
    assert [member.name for member in members] == ["llama3.1:8b", "qwen2.5:7b"]
    assert [member.profile.context_window for member in members] == [8_000, 32_000]


def test_given_none_then_the_one_model_votes_with_itself() -> None:
    assert ensemble(settings("", base_url="http://x/v1")) == ()


def test_given_a_file_as_the_model_then_the_error_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match="ENSEMBLE__MODELS"):
        ensemble(settings("a,b", model="/models/x.gguf"))
