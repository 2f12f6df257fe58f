"""Backup, restore and doctor as an operator runs them, beside a server that goes on answering."""

from pathlib import Path

from tests.documents import DOCUMENTS
from tests.e2e.processes import run, run_json, serving


def test_given_a_server_then_its_data_is_backed_up_and_restored_while_it_serves(
    tmp_path: Path,
) -> None:
    data, file = tmp_path / "data", tmp_path / "monday.ragstone"
    question = "How many days of leave are there?"
    with serving(data):
        assert run(data, "ingest", str(DOCUMENTS)).returncode == 0
        before = run_json(data, "search", question)
        written = run(data, "backup", str(file))
        assert written.returncode == 0, written.stderr
        assert "collections with" in written.stdout
        assert file.stat().st_mode & 0o777 == 0o600
        assert run(data, "delete", "--all", "--yes").returncode == 0
        assert run(data, "search", question).returncode == 1
        restored = run(data, "restore", str(file), "--yes")
        assert restored.returncode == 0, restored.stderr
        after = run_json(data, "search", question)
        assert [hit["chunk"]["chunk_id"] for hit in after["hits"]] == [
            hit["chunk"]["chunk_id"] for hit in before["hits"]
        ]
        *models, nothing = run(data, "doctor").stdout.splitlines()
        assert [one.partition(":")[0] for one in models] == ["embedding", "embedding", "reranking"]
        assert nothing == "Nothing disagrees."
    assert run(data, "doctor", "--check").returncode == 0
    assert run(data, "backup", str(file)).stderr.startswith("ragstone: There is a file")
    file.write_bytes(file.read_bytes()[:-100])
    cut = run(data, "restore", str(file), "--yes")
    assert cut.returncode == 1
    assert "cut off" in cut.stderr
    assert run_json(data, "search", question)["hits"]
