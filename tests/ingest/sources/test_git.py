"""A collection follows a real Git repository."""

import os
import shutil
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragstone.core.errors import InputError, SourceUnavailable
from ragstone.plugins.sources.git import GitOptions, GitRepository
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.options import check_options
from tests.ingest.sources.git_server import Repository, make_repository, serve_repositories
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
]

LOGIN = "ada:open-sesame-4711"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path / "served" / "handbook")
    made.commit({"menu.md": "There is soup.", "pay/salaries.md": "The director earns 9,000."})
    return made


@pytest.fixture
async def synced(tmp_path: Path, repository: Repository) -> AsyncIterator[SyncedCollection]:
    options = {"url": f"file://{repository.folder}"}
    async with opened_collection(tmp_path, kind="git", options=options) as collection:
        yield collection


def replace_git(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a script of the shell be the git that is found."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


async def test_files_follow_the_newest_commit(
    synced: SyncedCollection, repository: Repository
) -> None:
    first = await synced.sync()
    second = await synced.sync()
    repository.commit({"menu.md": "There is now fish.", "new.md": "New."}, ("pay/salaries.md",))
    third = await synced.sync()

    assert (first.state, first.added, first.error) == ("done", 2, "")
    assert (second.added, second.changed, second.unchanged) == (0, 0, 2)
    assert (third.added, third.changed, third.removed) == (1, 1, 1)
    assert set(await synced.documents()) == {"/house/menu.md", "/house/new.md"}
    assert await synced.texts() == {"There is now fish.", "New."}


async def test_a_history_that_was_written_anew_is_followed(
    synced: SyncedCollection, repository: Repository
) -> None:
    await synced.sync()
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.commit({"menu.md": "Another beginning."})
    repository.git("branch", "-M", "other", "main")

    run = await synced.sync()

    assert (run.state, run.changed) == ("done", 1)


async def test_a_folders_file_says_who_may_read_it(
    synced: SyncedCollection, repository: Repository
) -> None:
    repository.commit({"pay/ragstone.yaml": "readers: [group:hr]"})

    await synced.sync()

    assert await synced.texts() == {"There is soup."}


async def test_what_a_git_that_was_killed_has_left_stops_nothing(
    synced: SyncedCollection, repository: Repository
) -> None:
    await synced.sync()
    clone = synced.parts.folder("s1") / "house"
    (clone / ".git" / "index.lock").touch()
    (clone / ".git" / "shallow.lock").touch()
    repository.commit({"menu.md": "There is now fish."})

    assert (await synced.sync()).state == "done"

    shutil.rmtree(clone / ".git" / "objects")
    shutil.rmtree(clone)
    assert (await synced.sync()).unchanged == 2


async def test_a_clone_is_cleaned_in_the_foreground(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    replace_git(
        tmp_path / "bin",
        f"exec {shutil.which('git')} config --get-regexp autodetach > {told}",
        monkeypatch,
    )

    await GitRepository("house", GitOptions(url="https://x.org/a.git"), tmp_path / "own").check()

    assert told.read_text() == "gc.autodetach false\nmaintenance.autodetach false\n"


async def test_a_link_in_a_repository_reads_nothing_of_the_server(
    synced: SyncedCollection, repository: Repository, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("Secret of the server.")
    (repository.folder / "link.md").symlink_to(tmp_path / "secret.md")
    repository.commit({})

    await synced.sync()

    assert "Secret of the server." not in await synced.texts()


async def test_a_repository_that_is_gone_fails_the_run_and_its_documents_stay(
    synced: SyncedCollection, repository: Repository
) -> None:
    await synced.sync()
    repository.folder.rename(repository.folder.with_name("elsewhere"))

    run = await synced.sync()

    assert run.state == "failed"
    assert f"The repository file://{repository.folder} cannot be read:" in run.error
    assert len(await synced.documents()) == 2


async def test_a_branch_that_is_not_there_is_named(tmp_path: Path, repository: Repository) -> None:
    options = {"url": f"file://{repository.folder}", "branch": "draft"}
    async with opened_collection(tmp_path, kind="git", options=options) as synced:
        run = await synced.sync()

    assert "it has no branch 'draft'" in run.error


async def test_a_repository_over_http_is_read_with_its_password_and_nobody_sees_that(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGSTONE_SOURCE_GIT", LOGIN.partition(":")[2])
    with serve_repositories(tmp_path / "served", LOGIN) as address:
        options = {
            "url": f"{address}/handbook/.git",
            "user": "ada",
            "password": "env:RAGSTONE_SOURCE_GIT",
        }
        async with opened_collection(tmp_path, kind="git", options=options) as synced:
            run = await synced.sync()
            monkeypatch.setenv("RAGSTONE_SOURCE_GIT", "wrong-4711")
            refused = await synced.sync()

    assert (run.state, run.added, run.error) == ("done", 2, "")
    assert refused.state == "failed"
    assert "wrong-4711" not in refused.error
    for folder, _, files in os.walk(tmp_path):
        for name in files:
            assert b"4711" not in Path(folder, name).read_bytes(), name


async def test_a_server_that_says_a_lot_fills_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "head -c 20000000 /dev/zero >&2\necho >&2\necho fatal: no >&2\nexit 128"
    replace_git(tmp_path / "bin", said, monkeypatch)
    repository = GitRepository("house", GitOptions(url="https://x.org/a.git"), tmp_path / "own")

    tracemalloc.start()
    try:
        with pytest.raises(SourceUnavailable, match="cannot be read: no"):
            await repository.check()
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "options",
    [
        {"url": "ext::sh -c touch% /tmp/x"},
        {"url": "--upload-pack=touch /tmp/x"},
        {"url": "https://ada:sesame@x.org/a.git"},
        {"url": "https://token@x.org/a.git"},
        {"url": "https://x.org/a.git", "branch": "--output=/tmp/x"},
        {"url": "https://x.org/a.git", "password": "sesame"},
    ],
    ids=["program", "option", "password", "token", "option as branch", "secret"],
)
def test_what_would_run_something_or_show_a_secret_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(InputError) as raised:
        check_options("git", SOURCES.get("git"), options)

    assert "sesame" not in str(raised.value)
