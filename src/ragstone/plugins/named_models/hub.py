"""Models of a hub: fetched once because a setting names them, then never asked for again.

What was fetched is remembered beside it: the commit, and each file's size and SHA-256. A file that
is not what was fetched is an error, not fetched again behind the user's back.
"""

import glob
import hashlib
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ragstone.core.errors import ConfigError, ModelUnavailable

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo

FOLDERS = ("", "onnx/")
"""Where exporters put the file: optimum and fastembed in the folder, others in `onnx`."""

NAMES = ("model", "model_optimized", "model_quantized", "model_int8", "model_uint8", "model_fp16")
"""What exporters call it, the most exact first. A setting may name any other."""

OTHER_WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf", ".h5")


def choose(setting: str, where: str, files: Iterable[str], named: str = "") -> str:
    """Return the ONNX file among `files`: the one that is `named`, else the first of `NAMES`, else
    the only one. Raises ConfigError."""
    known = set(files)
    if named:
        if named in known and named.endswith(".onnx"):
            return named
        raise ConfigError(f"{setting}: there is no ONNX file {named!r} in {where}.{_there(known)}")
    # The most exact first: quantized files differ from the model that was measured.
    for name in NAMES:
        for folder in FOLDERS:
            if f"{folder}{name}.onnx" in known:
                return f"{folder}{name}.onnx"
    found = [item for item in known if item.endswith(".onnx")]
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(f"{setting}: which ONNX file of {where}? Name one.{_there(known)}")
    if any(item.endswith(OTHER_WEIGHTS) for item in known):
        raise ConfigError(
            f"{setting}: {where} has weights, but not as ONNX. Make them with "
            "'optimum-cli export onnx', or name a model that has a model.onnx."
        )
    raise ConfigError(
        f"{setting}: there is no model.onnx in {where} or its onnx folder. Name the folder of a "
        "model as optimum or fastembed lay it out."
    )


def belongs(name: str, file: str) -> bool:
    """Tell whether a file of a repository is needed to run its ONNX `file`: itself, the weights
    that stand beside it, and what says how it is used."""
    path, model = PurePosixPath(name), PurePosixPath(file)
    if path.parent == model.parent and path.name in (model.name, f"{model.name}.data"):
        return True
    if path.parent == model.parent and path.name.startswith(f"{model.name}_data"):
        return True
    if path.name == "artifact.metadata":  # What ColBERT's own program says of the model.
        return True
    return path.suffix == ".json" and len(path.parts) <= 2 and path.name not in _UNUSED


_UNUSED = frozenset({"vocab.json", "openvino_model.json", "model.safetensors.index.json"})


def _there(known: Iterable[str]) -> str:
    found = sorted(text for text in known if text.endswith(".onnx"))
    return f" There are {', '.join(found[:12])}." if found else ""


log = logging.getLogger(__name__)

REMEMBERED = "ragstone-model.json"


@dataclass(frozen=True, slots=True)
class FetchedModel:
    """What `REMEMBERED` says: the commit that was fetched, and each file's (size, SHA-256)."""

    commit: str
    files: Mapping[str, tuple[int, str]]


class Hub:
    """Keeps each model of a hub in a folder of its own below `kept`."""

    def __init__(self, kept: Path) -> None:
        self._kept = kept

    def fetch(self, setting: str, repo: str, revision: str, file: str) -> tuple[Path, str, str]:
        """Return the folder, ONNX file and commit of a model, which is fetched if it is not there.

        A revision that was fetched stays at its commit. Raises ConfigError, ModelUnavailable.
        """
        wanted = f"{repo}@{revision}" if revision else repo
        folder = self._kept / wanted.replace("/", "--")
        known = _find_fetched(folder)
        if known is None or (file and file not in known.files):
            with _explain_errors(setting, wanted):
                known = _fetch(setting, repo, known.commit if known else revision, file, folder)
        _check(setting, folder, known)
        return folder, choose(setting, wanted, known.files, file), known.commit


def _find_fetched(folder: Path) -> FetchedModel | None:
    """None where nothing was fetched to its end."""
    try:
        said = json.loads((folder / REMEMBERED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    files = {name: (int(size), str(digest)) for name, (size, digest) in said["files"].items()}
    return FetchedModel(said["commit"], files)


def _fetch(setting: str, repo: str, revision: str, file: str, folder: Path) -> FetchedModel:
    from huggingface_hub import HfApi, snapshot_download

    endpoint = os.environ.get("HF_ENDPOINT") or None
    api = HfApi(endpoint=endpoint, library_name="ragstone")
    info = api.model_info(repo, revision=revision or None, files_metadata=True)
    names = [sibling.rfilename for sibling in info.siblings or ()]
    file = choose(setting, repo, names, file)
    wanted = [name for name in names if belongs(name, file)]
    commit = info.sha or ""
    log.warning("%s: fetching %s at %s from the hub, once.", setting, repo, commit[:12])

    def download() -> None:
        patterns = [glob.escape(name) for name in wanted]
        snapshot_download(
            repo,
            revision=commit,
            local_dir=folder,
            allow_patterns=patterns,
            endpoint=endpoint,
            library_name="ragstone",
        )

    download()
    # The client takes a file that is there for what it fetched before.
    if _delete_damaged(info, folder, wanted):
        download()
        if damaged := _delete_damaged(info, folder, wanted):
            raise ModelUnavailable(
                f"{setting}: {', '.join(damaged)} came damaged from the hub. Try again."
            )
    before = _find_fetched(folder)
    files = dict(before.files) if before else {}
    files |= {name: ((folder / name).stat().st_size, digest(folder / name)) for name in wanted}
    _remember(folder, repo, FetchedModel(commit, files))
    return FetchedModel(commit, files)


def _delete_damaged(info: "ModelInfo", folder: Path, wanted: Sequence[str]) -> list[str]:
    """Delete the large files that are not what the hub says they are; their names."""
    damaged = []
    for sibling in info.siblings or ():
        lfs: Any = sibling.lfs
        if (
            lfs
            and sibling.rfilename in wanted
            and digest(folder / sibling.rfilename) != lfs["sha256"]
        ):
            (folder / sibling.rfilename).unlink()
            damaged.append(sibling.rfilename)
    return damaged


def _remember(folder: Path, repo: str, fetched: FetchedModel) -> None:
    """Written last and whole, so that a fetch that was cut off is none."""
    said = {"repository": repo, "commit": fetched.commit, "files": fetched.files}
    new = folder / f"{REMEMBERED}.new"
    new.write_text(json.dumps(said, indent=1), encoding="utf-8")
    # A fetch that was cut off leaves no such file, and so counts as none.
    new.replace(folder / REMEMBERED)


def _check(setting: str, folder: Path, known: FetchedModel) -> None:
    for name, (size, _) in known.files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != size:
            raise ConfigError(
                f"{setting}: {path} is not what was fetched. Delete the folder {folder}, and the "
                "model is fetched again."
            )


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@contextmanager
def _explain_errors(setting: str, wanted: str) -> Iterator[None]:
    """What goes wrong with a hub, as one sentence that says what to do."""
    from httpx2 import HTTPError
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        yield
    except GatedRepoError as error:
        raise ConfigError(
            f"{setting}: {wanted} is given only to who has accepted its terms. Accept them on its "
            "page, and set HF_TOKEN."
        ) from error
    except (RepositoryNotFoundError, RevisionNotFoundError, HFValidationError) as error:
        raise ConfigError(
            f"{setting}: there is no folder {wanted!r} here, and no such model at the hub. Check "
            "the name and the revision; a private model needs HF_TOKEN."
        ) from error
    except (HTTPError, OSError) as error:
        raise ModelUnavailable(
            f"{setting}: {wanted} is not a folder here, and the hub cannot be reached to fetch it "
            f"({type(error).__name__}). Connect once, or copy the model here and name its folder."
        ) from error
