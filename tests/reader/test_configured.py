"""READER__MODEL: the bundled reader, a folder, or a model of natural language inference."""

from pathlib import Path

import pytest

from ragstone.core.errors import ConfigError, ModelUnavailable
from ragstone.models.named import NamedModels
from ragstone.ports import Pair
from ragstone.reader.configured import open_configured_reader
from ragstone.reader.network import CARD, find_bundled
from ragstone.settings import ReaderSettings
from tests.named_models.small_models import a_scorer, an_encoder

CLAIM = Pair("The museum opens at nine.", "The museum opens at nine.")
ASKED = Pair("When does the museum open?", "The museum opens at nine.", question=True)


async def test_given_a_folder_with_a_readers_model_then_that_reads(tmp_path: Path) -> None:
    reader = open_configured_reader(
        ReaderSettings(model=str(find_bundled())), NamedModels(tmp_path)
    )
    [found] = await reader.read([CLAIM])
    await reader.aclose()
    assert found.supported > 0.5


async def test_given_a_model_of_inference_then_it_reads_claims_and_the_bundled_one_questions(
    tmp_path: Path,
) -> None:
    folder = a_scorer(tmp_path, ["contradiction", "entailment", "neutral"], (-1.0, 1.0, 0.25))
    reader = open_configured_reader(ReaderSettings(model=str(folder)), NamedModels(tmp_path))
    asked, claimed = await reader.read([ASKED, CLAIM])
    await reader.aclose()
    assert asked.answers > 0.5
    assert asked.span is not None
    assert claimed.supported > claimed.not_said > claimed.contradicted


async def test_given_a_damaged_folder_or_another_kind_of_model_then_one_line_says_so(
    tmp_path: Path,
) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / CARD).write_text('{"form": 1, "sha256": "0"}', encoding="utf-8")
    with pytest.raises(ModelUnavailable, match="cannot be opened"):
        open_configured_reader(ReaderSettings(model=str(damaged)), NamedModels(tmp_path))
    with pytest.raises(ConfigError, match="READER__MODEL"):
        open_configured_reader(ReaderSettings(model="nowhere at all"), NamedModels(tmp_path))
    with pytest.raises(ConfigError, match="READER__MODEL"):
        open_configured_reader(
            ReaderSettings(model=str(an_encoder(tmp_path / "encoder"))), NamedModels(tmp_path)
        )
