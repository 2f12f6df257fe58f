"""A named model in the whole program: a change of models means a rebuild, never a mixture."""

from pathlib import Path

from ragstone.models.embedders import models_in_use
from ragstone.models.minilm import MiniLm
from tests.e2e.processes import here
from tests.named_models.small_models import a_scorer, an_encoder

QUESTION = "Which animals sing in the sea?"


def test_given_another_model_then_a_collection_is_rebuilt_before_it_is_searched(
    tmp_path: Path,
) -> None:
    data, documents = tmp_path / "data", tmp_path / "documents"
    documents.mkdir()
    (documents / "whales.txt").write_text("Whales are animals that sing in the sea.")
    (documents / "bread.txt").write_text("Bread is baked from flour and water.")
    embedding = str(an_encoder(tmp_path / "encoder"))
    models = {"EMBEDDING__MODEL": embedding, "RERANK__MODEL": str(a_scorer(tmp_path / "scorer"))}
    assert here(data, "ingest", str(documents)).returncode == 0
    refused = here(data, "search", QUESTION, **models)
    assert refused.returncode == 1
    assert "ragstone rebuild --collection default" in refused.stderr
    rebuilt = here(data, "rebuild", "--collection", "default", **models)
    assert rebuilt.returncode == 0, rebuilt.stderr
    found = here(data, "search", QUESTION, **models)
    assert found.returncode == 0, found.stderr
    assert "whales.txt" in found.stdout
    assert here(data, "search", QUESTION).returncode == 1
    doctor = here(data, "doctor", "--check", **models).stdout.splitlines()
    assert doctor[0].startswith("embedding: encoder (folder ")
    assert doctor[1].startswith("reranking: scorer (folder ")
    assert doctor[2:] == ["Nothing disagrees."]


def test_given_a_bundled_model_then_its_name_says_enough() -> None:
    assert models_in_use([MiniLm()], MiniLm()) == (
        "embedding: all-MiniLM-L6-v2",
        "reranking: all-MiniLM-L6-v2",
    )
