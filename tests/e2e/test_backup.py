"""Backup, restore and doctor as an operator runs them, beside a server that goes on answering."""

from pathlib import Path

import pytest

from tests.documents import DOCUMENTS
from tests.e2e.processes import here, json_here, run, serving

pytestmark = pytest.mark.slow


def test_given_a_server_then_its_data_is_backed_up_and_restored_while_it_serves(
    tmp_path: Path,
) -> None:
    data, file = tmp_path / "data", tmp_path / "monday.ragstone"
    question = "How many days of leave are there?"
    with serving(data):
        assert here(data, "ingest", str(DOCUMENTS)).returncode == 0
        before = json_here(data, "search", question)
        written = run(data, "backup", str(file))
        assert written.returncode == 0, written.stderr
        assert "1 collection with" in written.stdout
        assert file.stat().st_mode & 0o777 == 0o600
        more = tmp_path / "tuesday.ragstone"
        written = run(data, "backup", str(more), "--since", str(file))
        assert written.returncode == 0, written.stderr
        assert "It continues monday.ragstone" in written.stdout
        assert more.stat().st_size < file.stat().st_size / 2
        assert here(data, "delete", "--all", "--yes").returncode == 0
        assert here(data, "search", question).returncode == 1
        restored = run(data, "restore", str(more), "--yes")
        assert restored.returncode == 0, restored.stderr
        after = json_here(data, "search", question)
        assert [hit["chunk"]["chunk_id"] for hit in after["hits"]] == [
            hit["chunk"]["chunk_id"] for hit in before["hits"]
        ]
        *models, nothing = here(data, "doctor").stdout.splitlines()
        assert [model.partition(":")[0] for model in models] == [
            "embedding",
            "embedding",
            "reranking",
        ]
        assert nothing == "Nothing disagrees."
    assert here(data, "doctor", "--check").returncode == 0
    assert here(data, "backup", str(file)).stderr.startswith("ragstone: There is a file")
    file.write_bytes(file.read_bytes()[:-100])
    cut = here(data, "restore", str(file), "--yes")
    assert cut.returncode == 1
    assert "cut off" in cut.stderr
    assert json_here(data, "search", question)["hits"]
