"""A model's folder is opened if it holds what its card says."""

import json
import shutil
from hashlib import sha256
from pathlib import Path
from weakref import WeakValueDictionary

import pytest

from ragstone.core.errors import ModelUnavailable
from ragstone.models import onnx
from ragstone.models.engines import E5Engine, open_weights
from ragstone.reader.network import CARD, FILE, Network, find_bundled


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (FILE, CARD):
        shutil.copy(find_bundled() / name, tmp_path / name)
    return tmp_path


def test_given_a_copy_of_the_bundled_folder_then_it_opens(folder: Path) -> None:
    assert Network.load(folder).run([]) == []


def test_given_no_folder_then_the_error_names_it(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="missing"):
        Network.load(tmp_path / "missing")


def test_given_a_damaged_file_then_it_is_refused(folder: Path) -> None:
    data = bytearray((folder / FILE).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / FILE).write_bytes(data)
    with pytest.raises(ModelUnavailable, match="damaged"):
        Network.load(folder)


def test_given_a_file_that_is_no_model_then_it_is_refused(folder: Path) -> None:
    (folder / FILE).write_bytes(b"no model")
    card = json.loads((folder / CARD).read_text())
    card["sha256"] = sha256(b"no model").hexdigest()
    (folder / CARD).write_text(json.dumps(card))
    with pytest.raises(ModelUnavailable, match="cannot be opened"):
        Network.load(folder)


@pytest.mark.parametrize("card", ["{}", "no json", '{"form": 9, "sha256": ""}', "[]"])
def test_given_a_card_of_another_kind_then_it_is_refused(folder: Path, card: str) -> None:
    (folder / CARD).write_text(card)
    with pytest.raises(ModelUnavailable, match="cannot be opened"):
        Network.load(folder)


def test_given_several_users_of_the_weights_then_they_are_in_memory_once_and_go_with_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(onnx, "opened", WeakValueDictionary())
    one, two = Network.load(), Network.load()
    assert one.weights is two.weights is open_weights()
    assert one.weights is E5Engine.load()._weights
    del one, two
    assert len(onnx.opened) == 0
