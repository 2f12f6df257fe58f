"""Where settings come from, and the names that other systems' documents give them."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import ConfigError
from ragstone.language.templates import describe_prompt
from ragstone.recipes.setting_table import table
from ragstone.settings import Origin, Settings, load
from ragstone.settings.added import aliases_by_name, find_aliases
from ragstone.settings.aliases import ALIASES, MADE_OF_PARTS, REMOVED
from ragstone.settings.names import variable


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings but those of the test."""
    monkeypatch.chdir(tmp_path)
    for alias in find_aliases():
        monkeypatch.delenv(alias.name, raising=False)


def value(settings: Settings, key: str) -> Any:
    found: Any = settings
    for name in key.split("."):
        found = found[name] if isinstance(found, dict) else getattr(found, name)
    return getattr(found, "get_secret_value", lambda: found)()


OTHERS = ("LLM__NO_SUCH", "RAGSTONE_CONFIG", "LLM")

PRINTED = [
    ("LLM__BASE_URL", "http://10.10.1.60:10222/v1", "llm.base_url", "http://10.10.1.60:10222/v1"),
    ("LLM__MODEL", "openai/gpt-oss-120b", "llm.model", "openai/gpt-oss-120b"),
    ("LLM__TEMPERATURE", "0.2", "llm.temperature", 0.2),
    ("LLM__MAX_COMPLETION_TOKENS", "10000", "llm.max_tokens", 10000),
    ("RAG__FORBIDDEN_CHECK_ENABLED", "false", "rag.forbidden_check_enabled", False),
    ("RAG__FORBIDDEN_CHECK_THRESHOLD", "0.5", "rag.forbidden_check_threshold", 0.5),
    ("RAG__FORBIDDEN_CHECK_MODE", "qdrant", "rag.forbidden_check_mode", "qdrant"),
    ("KDB__URL", "http://10.30.1.196:28101", "index.url", "kdb+http://10.30.1.196:28101"),
    ("MCP__GATEWAY", "http://10.10.1.25:8502", "mcp.gateway", "http://10.10.1.25:8502"),
    ("MCP__MCP_ENABLED", "true", "mcp.mcp_enabled", True),
    ("DB__HOST", "10.30.1.196", "conversation.url", "mongodb://10.30.1.196:27017"),
    ("PORT", "8001", "server.port", 8001),
    ("WORKERS", "4", "server.workers", 4),
    ("MAX_CONCURRENT_QUERIES", "20", "server.max_concurrent_queries", 20),
    ("LLM_TEMPERATURE", "0.7", "llm.temperature", 0.7),
    ("LLM_MAX_TOKENS", "2000", "llm.max_tokens", 2000),
    ("RETRIEVAL_SERVICE_URL", "http://r:8004", "index.url", "retrieval+http://r:8004"),
    ("DEFAULT_TOP_K", "5", "rag.top_k", 5),
    ("DEFAULT_MODE", "precise", "rag.mode", "precise"),
    ("ENABLE_QUERY_REWRITING", "false", "rag.rewrite", "none"),
    ("HYDE_ENABLED", "true", "rag.hyde_enabled", True),
    ("MULTI_QUERY_ENABLED", "true", "rag.query_expansion_enabled", True),
    ("MULTI_QUERY_NUM", "4", "rag.rewrites", 4),
    ("ENABLE_SELF_RAG", "false", "self_rag.enabled", False),
    ("SELF_RAG_MAX_ITERATIONS", "2", "self_rag.max_iterations", 2),
    ("SELF_RAG_SCORE_THRESHOLD", "80", "self_rag.score_threshold", 80.0),
    ("RAG_ENABLED", "false", "plone.enabled", False),
    (
        "EMBEDDING_BASE_URL",
        "http://localhost:11434/v1",
        "embedding.base_url",
        "http://localhost:11434/v1",
    ),
    ("EMBEDDING_API_KEY", "ollama", "embedding.api_key", "ollama"),
    ("EMBEDDING_MODEL", "mxbai-embed-large", "embedding.model", "mxbai-embed-large"),
    ("EMBEDDING_DIMENSIONS", "1024", "embedding.dimensions", 1024),
    ("LLM_BASE_URL", "http://localhost:11434/v1", "llm.base_url", "http://localhost:11434/v1"),
    ("LLM_API_KEY", "ollama", "llm.api_key", "ollama"),
    ("LLM_MODEL", "llama3.1:8b", "llm.model", "llama3.1:8b"),
    ("RAG_CHUNK_SIZE", "800", "ingest.chunk_size", 800),
    ("RAG_CHUNK_OVERLAP", "100", "ingest.chunk_overlap", 100),
    ("RAG_TOP_K", "5", "rag.top_k", 5),
    ("RAG_NUM_CANDIDATES", "50", "rag.candidates", 50),
    ("RAG_MAX_CONTEXT_LENGTH", "4000", "rag.context_chars", 4000),
    ("RAG_ENABLED", "false", "plone.enabled", False),
    ("wcs.backend.rag_content_types", "Document,File", "plone.content_types", ("Document", "File")),
    ("wcs.backend.rag_error_message", "Oh.", "plone.error_message", "Oh."),
    ("wcs.backend.rag_llm_temperature", "0.5", "llm.temperature", 0.5),
    ("wcs.backend.rag_llm_max_tokens", "300", "llm.max_tokens", 300),
    ("wcs.backend.rag_title_boost_factor", "2.5", "rag.title_boost", 2.5),
    ("wcs.backend.rag_boost_bm25", "1.5", "rag.boost_bm25", 1.5),
    ("wcs.backend.rag_boost_knn", "2", "rag.boost_knn", 2.0),
    ("wcs.backend.rag_no_answer_message", "No.", "rag.no_answer", "No."),
    ("retrieval_initial_k", "50", "rag.candidates", 50),
    ("retrieval_final_k", "5", "rag.top_k", 5),
    ("relevance_threshold", "0.3", "rag.similarity_threshold", 0.3),
    ("semantic_confidence_threshold", "0.6", "adaptive.intent_threshold", 0.6),
]


@pytest.mark.parametrize(("name", "given", "key", "wanted"), PRINTED, ids=lambda v: str(v)[:30])
@pytest.mark.conforms("chat-core", "10.1", "Every environment variable as printed")
@pytest.mark.conforms("V5", "Configuration", "Every setting by its printed name")
@pytest.mark.conforms("RAG engine v1", "Environment", "The printed variables")
@pytest.mark.conforms("Plone", "Environment variables", "The printed variables")
def test_given_a_name_of_a_document_then_it_works_as_printed(
    name: str, given: str, key: str, wanted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, given)
    settings = load()
    assert value(settings, key) == wanted
    assert settings.origin(key) == Origin("environment", name)


def test_every_alias_leads_to_something_that_is() -> None:
    for alias in find_aliases():
        if (
            alias.key
            and alias.key not in MADE_OF_PARTS
            and not alias.key.startswith(("stages.", "prompts."))
        ):
            value(load(), alias.key)


def test_given_both_names_then_ours_wins_and_a_warning_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RAG_TOP_K", "5")
    monkeypatch.setenv("RAG__TOP_K", "6")
    assert load().rag.top_k == 6
    assert "RAG__TOP_K counts, not RAG_TOP_K" in caplog.text


def test_given_two_documents_names_then_the_first_of_the_table_wins(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RAG_TOP_K", "5")
    monkeypatch.setenv("DEFAULT_TOP_K", "7")
    assert load().rag.top_k == 7
    assert "DEFAULT_TOP_K counts, not RAG_TOP_K" in caplog.text


def test_given_an_empty_name_of_a_document_then_it_is_not_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAG_TOP_K", "")
    assert load().rag.top_k == 10


@pytest.mark.parametrize("value", ["", " ", "\t\n"])
def test_an_empty_variable_of_any_setting_is_not_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    before = load()
    for name in (*map(variable, table()), *aliases_by_name(), *OTHERS):
        monkeypatch.setenv(name.upper(), value)
    assert load() == before
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("".join(f"{variable(key)}=\n" for key in table()))
    assert load() == before


def test_given_a_wrong_value_then_the_error_names_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEFAULT_TOP_K", "many")
    with pytest.raises(ConfigError, match=r"RAG__TOP_K is wrong \(DEFAULT_TOP_K\).*whole number"):
        load()


@pytest.mark.parametrize(
    ("variables", "model", "key", "url"),
    [
        ({"OPENAI_API_KEY": "sk"}, "", "", ""),
        ({"OPENAI_API_KEY": "sk", "OPENAI_MODEL": "gpt-4o"}, "openai:gpt-4o", "sk", ""),
        (
            {"OPENAI_API_KEY": "sk", "OPENAI_MODEL": "gpt-4o", "LLM_PROVIDER": "openai"},
            "openai:gpt-4o",
            "sk",
            "",
        ),
        ({"OPENAI_API_KEY": "sk", "LLM_PROVIDER": "openai"}, "", "sk", ""),
        ({"OPENAI_API_KEY": "sk", "LLM__MODEL": "openai:gpt-4o"}, "openai:gpt-4o", "sk", ""),
        ({"OPENAI_API_KEY": "sk", "LLM__MODEL": "gpt-4o"}, "gpt-4o", "sk", ""),
        ({"OPENAI_API_KEY": "sk", "LLM__MODEL": "anthropic:x"}, "anthropic:x", "", ""),
        (
            {"OPENAI_API_KEY": "sk", "LLM_MODEL": "m", "LLM_BASE_URL": "http://l/v1"},
            "m",
            "",
            "http://l/v1",
        ),
        (
            {"OPENAI_API_KEY": "sk", "LLM__MODEL": "openai:x", "LLM__API_KEY": "own"},
            "openai:x",
            "own",
            "",
        ),
        (
            {"LLM_PROVIDER": "ollama", "OLLAMA_MODEL": "deepseek-r1:14b"},
            "deepseek-r1:14b",
            "",
            "http://localhost:11434/v1",
        ),
        (
            {"ollama_model": "deepseek-r1:14b", "ollama_base_url": "http://gpu:11434"},
            "deepseek-r1:14b",
            "",
            "http://gpu:11434/v1",
        ),
        ({"LLM_PROVIDER": "anthropic", "LLM_MODEL": "claude-x"}, "anthropic:claude-x", "", ""),
    ],
    ids=str,
)
def test_given_parts_of_a_chat_model_then_they_are_put_together(
    variables: dict[str, str], model: str, key: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, given in variables.items():
        monkeypatch.setenv(name, given)
    llm = load().llm
    assert (llm.model, llm.api_key.get_secret_value(), llm.base_url) == (model, key, url)
    assert load().llm.is_configured is bool(model)


def test_given_file_dotenv_and_environment_then_the_later_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ragstone.yaml"
    file.write_text("rag:\n  top_k: 3\n  candidates: 30\n  context_tokens: 1200\n")
    Path(".env").write_text("RAG__CANDIDATES=40\nRAG__CONTEXT_TOKENS=1300\n")
    monkeypatch.setenv("RAG__CONTEXT_TOKENS", "1400")
    monkeypatch.setenv("RAGSTONE_CONFIG", str(file))
    settings = load()
    assert (settings.rag.top_k, settings.rag.candidates, settings.rag.context_tokens) == (
        3,
        40,
        1400,
    )
    assert settings.origin("rag.top_k") == Origin("file", f"{file}, line 2 (rag.top_k)")
    assert settings.origin("rag.candidates") == Origin("environment", "RAG__CANDIDATES in .env")
    assert settings.origin("rag.mode") == Origin()


def test_given_a_stage_by_its_former_name_then_it_is_that_stage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STAGES__GRADE__NEAR_DUPLICATE", "0.9")
    assert load().stages == {"deduplicate": {"near_duplicate": "0.9"}}


def test_given_stage_options_and_lists_in_the_environment_then_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STAGES__DEDUPLICATE__NEAR_DUPLICATE", "0.9")
    monkeypatch.setenv("PLONE__CONTENT_TYPES", '["News"]')
    monkeypatch.setenv("LLM__TIMEOUT", "90s")
    settings = load()
    assert settings.stages == {"deduplicate": {"near_duplicate": "0.9"}}
    assert settings.plone.content_types == ("News",)
    assert settings.llm.timeout == 90
    assert variable("stages.deduplicate.near_duplicate") == "STAGES__DEDUPLICATE__NEAR_DUPLICATE"


NEARLY = [
    ("STATE_URL", "postgresql://db/x", "STATE__URL"),
    ("INDEX_URL", "http://qdrant:6333", "INDEX__URL"),
    ("index_url", "http://qdrant:6333", "INDEX__URL"),
    ("RAG_NO_ANSWER", "No.", "RAG__NO_ANSWER"),
    ("RAG_TOP__K", "4", "RAG__TOP_K"),
    ("RAGG__TOP_K", "4", "RAG__TOP_K"),
    ("MCP__GATEWY", "http://gateway", "MCP__GATEWAY"),
    ("RAGSTONE_STATE_URL", "postgresql://db/x", "STATE__URL"),
    ("RAGSTONE__STATE__URL", "postgresql://db/x", "STATE__URL"),
    ("RAGSTONE_LLM_MODEL", "m", "LLM__MODEL"),
    ("RAGSTONE_DEFAULT_TOP_K", "4", "DEFAULT_TOP_K"),
    ("RAGSTONE_DATA_DIR", "/data", "RAGSTONE_DATA"),
    ("RAGSTONE_CONFG", "/etc/ragstone.yaml", "RAGSTONE_CONFIG"),
]


@pytest.mark.parametrize(("name", "given", "meant"), NEARLY)
def test_given_a_name_that_is_nearly_a_setting_then_one_line_names_what_was_meant(
    name: str,
    given: str,
    meant: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(name, given)
    load()
    assert caplog.messages == [f"{name} is not a setting and has no effect. Do you mean {meant}?"]


def test_given_near_misses_in_a_dotenv_then_each_has_a_line_that_names_the_file(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Path(".env").write_text("STATE_URL=postgresql://u:secret@db/x\nRAG_NO_ANSWER=No.\n")
    load()
    assert [message.partition(" is not ")[0] for message in caplog.messages] == [
        "STATE_URL in .env",
        "RAG_NO_ANSWER in .env",
    ]
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("DB_HOST", "db"),  # A prefix that many programs use.
        ("SERVICE_NAME", "shop"),
        ("SERVER_PORT", "tcp://10.0.0.1:80"),  # Kubernetes, of a service called "server".
        ("RAGSTONE_PORT", "tcp://10.0.0.1:8006"),
        ("RAGSTONE_SERVICE_HOST", "10.0.0.1"),
        ("STATE_URL", ""),
        ("SERVER_SOFTWARE", "nginx"),
        ("LOG_LEVELS", "INFO"),
        ("AUTH_TOKEN", "x"),
        ("INDEX_HTML", "index.html"),
        ("CACHE_DIR", "/tmp"),
        ("AIRFLOW__CORE__EXECUTOR", "Local"),
        ("Logging__LogLevel__Default", "Information"),
        ("ConnectionStrings__Default", "x"),
        ("SERVICE__OTHER", "x"),
        ("STATE_URLS", "x"),
        ("PATH", "/bin"),
        ("_", "x"),
        ("__", "x"),
    ],
)
def test_given_a_variable_of_another_program_then_nothing_is_said(
    name: str, given: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(name, given)
    load()
    assert not caplog.messages


def test_given_the_setting_too_then_its_near_miss_is_another_programs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("INDEX_URL", "http://other:1")
    monkeypatch.setenv("INDEX__URL", "http://qdrant:6333")
    assert load().index.url == "http://qdrant:6333"
    assert not caplog.messages


def test_given_prefixed_names_that_are_no_settings_then_each_is_named_with_what_was_meant(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RAG__NO_ANSWR", "No.")
    monkeypatch.setenv("STATE__ULR", "postgresql://db/x")
    monkeypatch.setenv("LOG__LEVEL", "INFO")
    with pytest.raises(ConfigError) as refused:
        load()
    assert {refused.value.message, *caplog.messages} == {
        "There is no setting RAG__NO_ANSWR. Do you mean RAG__NO_ANSWER?",
        "There is no setting STATE__ULR. Do you mean STATE__URL?",
        "There is no setting LOG__LEVEL. Do you mean LOG_LEVEL?",
    }


@pytest.mark.parametrize("key", sorted(REMOVED))
def test_given_a_setting_that_is_no_more_then_the_start_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    (tmp_path / "a.yaml").write_text("{}: {{{}: x}}\n".format(*key.split(".")))
    with pytest.raises(ConfigError, match=re.escape(REMOVED[key])):
        load(tmp_path / "a.yaml")

    monkeypatch.setenv(variable(key), "x")

    with pytest.raises(ConfigError, match=re.escape(REMOVED[key])):
        load()


def test_given_values_in_several_places_then_all_are_kept_in_the_order_in_which_they_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ragstone.yaml"
    file.write_text("rag:\n  top_k: 3\nllm:\n  model: openai:one\n")
    Path(".env").write_text("RAG__TOP_K=4\nLLM__MODEL=two\n")
    monkeypatch.setenv("RAG_TOP_K", "5")
    monkeypatch.setenv("RAG__TOP_K", "6")
    monkeypatch.setenv("LLM_PROVIDER", "openai")
    settings = load(file, **{"rag.top_k": 7})
    assert [
        (item.origin.source, item.origin.where, str(item.value))
        for item in settings.beaten("rag.top_k")
    ] == [
        ("file", f"{file}, line 2 (rag.top_k)", "3"),
        ("environment", "RAG__TOP_K in .env", "4"),
        ("environment", "RAG_TOP_K", "5"),
        ("environment", "RAG__TOP_K", "6"),
    ]
    assert settings.rag.top_k == 7
    assert [item.value for item in settings.beaten("llm.model")] == ["openai:one"]
    assert settings.llm.model == "openai:two"
    assert not settings.beaten("rag.mode")


def test_given_nothing_then_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        load()
    assert not caplog.text


def test_given_a_document_that_names_a_prompt_then_there_is_such_a_prompt() -> None:
    named = [alias.key for alias in ALIASES if alias.key.startswith("prompts.")]
    assert len(named) == 7
    assert all(describe_prompt(key.removeprefix("prompts.")) for key in named)
