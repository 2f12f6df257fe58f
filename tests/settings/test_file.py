"""The file of settings: the VoiceHelper document's shape, our own keys, and what is wrong."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import ConfigError
from ragstone.settings import Settings, load

NACOS = """\
service:
  name: rag-engine
  version: 1.0.0
server:
  port: 8001
  workers: 4
  max_concurrent_queries: 200
llm:
  provider: openai
  api_key: ${OPENAI_API_KEY}
  model: gpt-4-turbo
  temperature: 0.7
  max_tokens: 2000
retrieval:
  service_url: http://retrieval-service:8004
  timeout: 10s
  default_top_k: 5
  default_mode: simple
query_rewriting:
  enabled: true
  hyde:
    enabled: true
    fallback_to_original: true
  multi_query:
    enabled: true
    num_queries: 3
  query_expansion:
    enabled: false
context:
  max_tokens: 3000
  compression:
    enabled: true
    strategy: truncate
  deduplication:
    enabled: true
    threshold: 0.9
prompt:
  modes:
    simple:
      system_prompt: 'You are careful.'
      instruction_template: 'Answer briefly.'
    advanced:
      system_prompt: 'You are careful and thorough.'
      instruction_template: 'Answer at length.'
    precise:
      system_prompt: 'You are strict.'
      instruction_template: 'Do not guess.'
self_rag:
  enabled: false
  max_iterations: 3
  score_threshold: 70
  evaluation_model: gpt-4
citation:
  enabled: true
  confidence_threshold: 0.5
  hallucination_detection: true
"""


def read(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return load(file)


@pytest.mark.conforms("RAG engine v1", "Nacos file", "The printed file loads")
def test_given_the_documents_file_then_everything_in_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    found = read(tmp_path, NACOS)
    assert found.service.name == "rag-engine"
    assert (found.server.port, found.server.workers) == (8001, 4)
    assert found.server.max_concurrent_queries == 200
    assert (found.llm.model, found.llm.api_key.get_secret_value()) == ("openai:gpt-4-turbo", "sk-1")
    assert (found.llm.temperature, found.llm.max_tokens) == (0.7, 2000)
    assert (found.index.url, found.index.timeout) == (
        "retrieval+http://retrieval-service:8004",
        10.0,
    )
    assert (found.rag.top_k, found.rag.mode, found.rag.context_tokens) == (5, "simple", 3000)
    assert (found.rag.rewrite, found.rag.rewrites) == ("auto", 3)
    assert found.rag.hyde_enabled
    assert found.rag.query_expansion_enabled
    assert found.stages == {"deduplicate": {"near_duplicate": 0.9}, "cite": {"confidence": 0.5}}
    assert found.prompts == {
        "mode.simple": "You are careful.\nAnswer briefly.",
        "mode.advanced": "You are careful and thorough.\nAnswer at length.",
        "mode.precise": "You are strict.\nDo not guess.",
    }
    assert found.rag.checking == "report"
    assert not found.rag.keywords_enabled
    assert (found.self_rag.enabled, found.self_rag.score_threshold) == (False, 70)
    assert found.self_rag.evaluation_model == "gpt-4"
    assert not caplog.messages


def test_given_variables_then_defaults_and_dollars_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIDTH", "9")
    found = read(
        tmp_path,
        "rag:\n  top_k: ${WIDTH}\n  candidates: ${NONE_SUCH:77}\n"
        "  no_answer: 'It costs $$5 ${X:}.'",
    )
    assert (found.rag.top_k, found.rag.candidates) == (9, 77)
    assert found.rag.no_answer == "It costs $5 ."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rag:\n  top_k: 5\n  topk: 6\n", r"line 3: there is no setting 'rag.topk'.*'rag.top_k'"),
        ("retrival:\n  timeout: 3\n", r"line 2: there is no setting 'retrival.timeout'"),
        ("rag:\n  top_k: 0\n", r"RAG__TOP_K is wrong \(.*line 2.*it must be at least 1"),
        ("rag:\n  top_k: [1\n", r"line 3: this is not YAML"),
        ("rag:\n  top_k: 5\n  top_k: 6\n", r"line 3: rag.top_k stands here a second time"),
        ("- a\n- b\n", r"line 1: the file must have names"),
        ("rag: 7\n", r"line 1: there is no setting 'rag'"),
        ("llm:\n  api_key: ${NOT_THERE_AT_ALL}\n", r"line 2: NOT_THERE_AT_ALL is not set"),
        ("llm:\n  timeout: 10 parsecs\n", r"LLM__TIMEOUT is wrong \(.*line 2"),
        ("query_rewriting:\n  enabled: perhaps\n", r"line 2.*'perhaps' is neither true nor false"),
        ("citation:\n  enabled: false\n", r"line 2.*cannot be turned off"),
        ("prompts:\n  answer: Be nice.\n", r"line 2.*must hold \{no_answer\}"),
        ("a: &a\n  b: *a\n", r"nested too deeply|no setting"),
        ("rag:\n  top_k: 2001-99-99\n", r"line 2"),
        ("rag: !!python/object:os.system {}\n", r"no setting|line 1"),
        ("? [a]\n: b\n", r"line 1: a name must be a text"),
    ],
)
def test_given_a_mistake_then_an_error_names_the_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read(tmp_path, text)


def test_given_a_setting_that_is_a_mapping_then_what_is_below_it_is_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "index:\n  options:\n    shards: 3\n    rescore: false\nauth:\n  roles:\n    kb: admin\n"
    found = read(tmp_path, text)
    assert found.index.options == {"shards": 3, "rescore": False}
    assert found.auth.roles == {"kb": "admin"}
    assert found.origin("index.options").where.endswith("line 2 (index.options)")
    monkeypatch.setenv("INDEX__OPTIONS", '{"shards": 4}')
    assert read(tmp_path, text).index.options == {"shards": 4}


def test_given_no_file_or_no_text_then_the_error_names_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere.yaml cannot be read"):
        load(tmp_path / "nowhere.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="it is not UTF-8"):
        load(tmp_path / "binary.yaml")


def test_given_an_empty_file_then_nothing_is_set(tmp_path: Path) -> None:
    assert read(tmp_path, "# nothing\n").rag == Settings().rag


@given(st.text(max_size=200))
def test_given_any_text_then_settings_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_bytes(text.encode("utf-8", "replace"))
    with suppress(ConfigError):
        load(file)


def test_given_mappings_inside_a_mapping_then_they_stay_mappings(tmp_path: Path) -> None:
    text = (
        "index:\n  options:\n    shards:\n      a: 1\n      b.c: {d: 2}\n"
        "embedding:\n  options:\n    query_prompt: 'query: '\n"
        "auth:\n  roles:\n    kb.admins: admin\n"
    )
    found = read(tmp_path, text)
    assert found.index.options == {"shards": {"a": 1, "b.c": {"d": 2}}}
    assert found.embedding.options.query_prompt == "query: "
    assert found.auth.roles == {"kb.admins": "admin"}
