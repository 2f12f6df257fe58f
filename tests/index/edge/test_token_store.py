"""Token vectors beside a shard take little more than their bytes."""

import sqlite3
from pathlib import Path

from ragstone.index.edge.pool import TokenStore


def test_given_rows_of_the_usual_length_then_the_file_is_little_longer_than_they_are(
    tmp_path: Path,
) -> None:
    store = TokenStore(tmp_path / "tokens.sqlite")
    rows = {f"{number:036}": bytes([number % 256]) * (1_500 + 4 * number) for number in range(500)}
    store.put(list(rows), list(rows.values()))
    assert store.get(list(rows)) == rows
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["tokens.sqlite"]
    assert (tmp_path / "tokens.sqlite").stat().st_size < 1.25 * sum(map(len, rows.values()))


def test_given_a_file_with_the_usual_pages_then_it_is_read_and_written(tmp_path: Path) -> None:
    """Versions before this made it."""
    path = tmp_path / "tokens.sqlite"
    with sqlite3.connect(path) as former:
        former.execute("CREATE TABLE tokens (id TEXT PRIMARY KEY, data BLOB NOT NULL)")
        former.execute("INSERT INTO tokens VALUES ('a', x'01')")
    former.close()
    store = TokenStore(path)
    store.put(["b"], [b"2"])
    assert store.get(["a", "b", "c"]) == {"a": b"\x01", "b": b"2"}
    store.close()
