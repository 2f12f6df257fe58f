"""Models of a hub, through the real client and a server with the hub's addresses."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ragstone.build import open_embedders
from ragstone.core.errors import ConfigError, ModelUnavailable
from ragstone.plugins.named_models.hub import REMEMBERED
from ragstone.plugins.named_models.places import ModelPlace, ModelPlaces
from ragstone.settings import EmbeddingSettings, Settings
from tests.e2e.processes import run
from tests.http_server import running
from tests.named_models.hub_server import HubServer
from tests.named_models.small_models import Encoder, an_encoder, write

pytestmark = pytest.mark.slow

FIRST, SECOND = "1" * 40, "2" * 40
REPO = "museum/small-model"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub with one model, which has an exact file, a small one and weights that nobody needs."""
    folder = an_encoder(tmp_path / "hub/first", file="onnx/model.onnx")
    Encoder(scale=2).save(folder / "onnx/model_int8.onnx")
    (folder / "pytorch_model.bin").write_bytes(bytes(200_000))
    (folder / "README.md").write_text("A small model.")
    server = HubServer()
    server.add(REPO, FIRST, folder)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with running(server.app) as url:
        server.variables["HF_ENDPOINT"] = url
        monkeypatch.setenv("HF_ENDPOINT", url)
        yield server


def find(data: Path, name: str = REPO) -> ModelPlace:
    return ModelPlaces(data).find("EMBEDDING__MODEL", name)


def test_given_a_name_then_only_what_is_needed_is_fetched_and_never_asked_for_again(
    hub: HubServer, tmp_path: Path
) -> None:
    place = find(tmp_path)
    assert place.path.read_bytes() == (tmp_path / "hub/first/onnx/model.onnx").read_bytes()
    assert place.origin == f"hub {REPO} at {FIRST[:12]}"
    assert tmp_path / "models" in place.folder.parents
    fetched = {item.relative_to(place.folder).as_posix() for item in place.folder.rglob("*.*")}
    assert {"tokenizer.json", "config.json", "1_Pooling/config.json"} <= fetched
    assert not {"pytorch_model.bin", "README.md", "onnx/model_int8.onnx"} & fetched
    hub.asked.clear()
    assert find(tmp_path) == place
    assert not hub.asked


def test_given_a_newer_commit_then_the_one_that_was_fetched_stays(
    hub: HubServer, tmp_path: Path
) -> None:
    before = find(tmp_path)
    hub.add(REPO, SECOND, an_encoder(tmp_path / "hub/second", Encoder(scale=5)))
    assert find(tmp_path) == before
    named = find(tmp_path, f"{REPO}@{SECOND}")
    assert named.origin.endswith(SECOND[:12])
    assert named.path.read_bytes() != before.path.read_bytes()
    # Another file of the model that is there is of the same commit.
    small = find(tmp_path, f"{REPO}:onnx/model_int8.onnx")
    assert small.origin == before.origin
    hub.asked.clear()
    assert find(tmp_path) == before
    assert find(tmp_path, f"{REPO}:onnx/model_int8.onnx") == small
    assert not hub.asked


async def test_given_no_network_any_more_then_the_model_is_used_as_before(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(ragstone_data=tmp_path, embedding=EmbeddingSettings(model=REPO))
    async with open_embedders(settings) as embedders:
        before = await embedders.choose("en").embed_passages(["whales"])
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    async with open_embedders(settings) as embedders:
        again = await embedders.choose("en").embed_passages(["whales"])
        assert embedders.choose("en").name == REPO
    assert np.array_equal(before, again)


def test_given_a_fetch_that_breaks_off_then_the_next_one_ends_it(
    hub: HubServer, tmp_path: Path
) -> None:
    hub.breaks_at = "tokenizer.json"
    with pytest.raises(ModelUnavailable, match="EMBEDDING__MODEL.*hub"):
        find(tmp_path)
    assert not list(tmp_path.rglob(REMEMBERED))
    hub.breaks_at = ""
    assert find(tmp_path).path.is_file()


def test_given_a_file_that_comes_damaged_then_it_is_not_used(
    hub: HubServer, tmp_path: Path
) -> None:
    hub.damaged = "onnx/model.onnx"
    with pytest.raises(ModelUnavailable, match="damaged"):
        find(tmp_path)
    hub.damaged = ""
    assert find(tmp_path).path.read_bytes().strip(b"\0")


def test_given_a_file_that_was_changed_later_then_it_is_named(
    hub: HubServer, tmp_path: Path
) -> None:
    place = find(tmp_path)
    place.path.write_bytes(place.path.read_bytes()[:-1])
    with pytest.raises(ConfigError, match="Delete the folder"):
        find(tmp_path)
    (place.folder / REMEMBERED).unlink()
    assert find(tmp_path).path.read_bytes() == (tmp_path / "hub/first" / place.file).read_bytes()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("museum/no-such-model", "no such model at the hub"),
        (f"{REPO}@no-such-revision", "no such model at the hub"),
        (f"{REPO}:onnx/other.onnx", "There are onnx/model.onnx, onnx/model_int8.onnx"),
        ("museum/torch-only", "optimum-cli export onnx"),
        ("museum/gated", "HF_TOKEN"),
    ],
)
def test_given_what_the_hub_has_not_then_one_line_says_so(
    name: str, said: str, hub: HubServer, tmp_path: Path
) -> None:
    torch = tmp_path / "hub/torch"
    write(torch, config={})
    (torch / "model.safetensors").write_bytes(b"1")
    hub.add("museum/torch-only", FIRST, torch)
    hub.add("museum/gated", FIRST, torch)
    hub.gated.add("museum/gated")
    with pytest.raises(ConfigError) as raised:
        find(tmp_path, name)
    assert said in raised.value.message
    assert "EMBEDDING__MODEL" in raised.value.message
    assert "\n" not in raised.value.message


@pytest.mark.parametrize(
    "variables", [{"HF_ENDPOINT": "http://127.0.0.1:9"}, {"HF_HUB_OFFLINE": "1"}]
)
def test_given_no_network_then_a_start_ends_with_one_line(
    variables: dict[str, str], hub: HubServer, tmp_path: Path
) -> None:
    done = run(tmp_path / "data", "doctor", EMBEDDING__MODEL=REPO, **hub.variables | variables)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith(f"ragstone: EMBEDDING__MODEL: {REPO} is not a folder here")
    assert "copy the model here and name its folder" in line
    assert not hub.asked


def test_given_the_doctor_then_it_says_which_model_is_in_use_and_where_it_is_from(
    hub: HubServer, tmp_path: Path
) -> None:
    done = run(tmp_path / "data", "doctor", EMBEDDING__MODEL=REPO, **hub.variables)
    assert done.returncode == 0, done.stderr
    embedding, reranking, nothing = done.stdout.splitlines()
    assert f"{REPO} (hub {REPO} at {FIRST[:12]}: onnx/model.onnx, 4 MB, SHA-256" in embedding
    assert "32 dimensions, pooling mean, 512 tokens" in embedding
    assert reranking == "reranking: late interaction"
    assert nothing == "Nothing disagrees."
