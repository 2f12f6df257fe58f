"""Terms of a question narrow what is searched, and never show what the asker may not read."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragstone import build
from ragstone.core.errors import InputError, InvalidFilter, UnknownCollection, UnknownFolder
from ragstone.core.filters import And, Not, Range, eq
from ragstone.core.turn import Ask, Principal
from ragstone.service import IngestRequest, Service
from ragstone.service.reading import Facet, FacetValue, Folder
from ragstone.settings import Settings

pytestmark = pytest.mark.slow

EVA = Principal(user="eva")


async def ingest(service: Service, request: IngestRequest) -> None:
    async for _ in service.ingest(request):
        pass


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    docs = tmp_path / "docs"
    docs.mkdir()
    for year in (2021, 2022, 2023):
        (docs / f"r{year}.txt").write_text(f"The revenue was {year % 10} million euros.")
        (docs / f"r{year}.txt.meta.yaml").write_text(f"year: {year}\ncreated: {year}-06-01\n")
    hidden = tmp_path / "hidden.txt"
    hidden.write_text("The revenue of the secret project was 9 million euros.")
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as service:
        await ingest(service, IngestRequest((str(docs),)))
        secret = {"secret": "apollo", "year": 1999}
        await ingest(service, IngestRequest((str(hidden),), allowed=("user:bob",), metadata=secret))
        yield service


async def paths(service: Service, question: str, **options: object) -> list[str]:
    ask = Ask(question, **{"principal": EVA, **options})  # type: ignore[arg-type]
    return sorted(hit.chunk.path for hit in (await service.search(ask)).hits)


async def test_given_a_term_then_only_documents_that_have_it_are_found(service: Service) -> None:
    assert await paths(service, "revenue year:2022") == ["/docs/r2022.txt"]
    assert await paths(service, "revenue year:>=2022") == ["/docs/r2022.txt", "/docs/r2023.txt"]
    assert await paths(service, "revenue created:<2022") == ["/docs/r2021.txt"]
    assert await paths(service, "revenue year:2050") == []
    found = await service.search(Ask("revenue year:2022", principal=EVA))
    traced = {item.stage: item for item in found.trace}
    assert (traced["narrow"].decision, traced["narrow"].reason) == ("narrowed", "year:2022")


async def test_given_a_filter_too_then_both_hold(service: Service) -> None:
    where = eq("metadata.year", 2023)
    assert await paths(service, "revenue year:2022", where=where) == []
    assert await paths(service, "revenue year:>2021", where=where) == ["/docs/r2023.txt"]


async def test_given_a_range_in_the_filter_then_it_is_compared(service: Service) -> None:
    recent = Range("metadata.year", 2022)
    both = ["/docs/r2022.txt", "/docs/r2023.txt"]
    assert await paths(service, "revenue", where=recent) == both
    assert await paths(service, "revenue", where=Range("metadata.created", "2022", "2023")) == both
    assert await paths(service, "revenue", where=Not(recent)) == ["/docs/r2021.txt"]
    assert await paths(service, "revenue", where=And((recent, Range("metadata.no", 1)))) == []
    with pytest.raises(InvalidFilter):
        await paths(service, "revenue", where=Range("metadata.year", 1, "2"))


async def test_given_a_key_of_others_then_it_is_a_word_for_who_may_not_read_it(
    service: Service,
) -> None:
    everything = ["/docs/r2021.txt", "/docs/r2022.txt", "/docs/r2023.txt"]
    assert await paths(service, "revenue secret:apollo") == everything
    assert await paths(service, "revenue year:1999") == []
    bob = Principal(user="bob")
    assert await paths(service, "revenue secret:apollo", principal=bob) == ["/hidden.txt"]


async def test_given_metadata_then_its_facets_count_what_may_be_read(service: Service) -> None:
    years = tuple(FacetValue(year, 1) for year in (2021, 2022, 2023))
    assert await service.reading.facets(EVA, "default", key="year") == [Facet("year", years, 3)]
    assert [facet.key for facet in await service.reading.facets(EVA, "default")] == [
        "created",
        "year",
    ]
    [cut] = await service.reading.facets(EVA, "default", key="year", limit=1)
    assert (len(cut.values), cut.different) == (1, 3)
    assert await service.reading.facets(EVA, "default", key="secret") == []
    bob = await service.reading.facets(Principal(user="bob"), "default", key="secret")
    assert bob == [Facet("secret", (FacetValue("apollo", 1),), 1)]
    with pytest.raises(UnknownCollection):
        await service.reading.facets(EVA, "nowhere")


async def test_given_folders_then_their_documents_are_counted_and_listed(service: Service) -> None:
    assert await service.reading.folders(EVA, "default") == [Folder("/docs", 3)]
    assert await service.reading.folders(EVA, "default", "/docs/") == []
    assert await service.reading.folders(EVA, "default", "/nowhere") == []
    listed = await service.documents(EVA, "default", below="docs", having={"year": 2022})
    assert [item.path for item in listed] == ["/docs/r2022.txt"]
    assert await service.documents(EVA, "default", having={"year": "2022"}) == []
    assert await service.documents(EVA, "default", having={"secret": "apollo"}) == []
    with pytest.raises(UnknownCollection):
        await service.reading.folders(EVA, "nowhere")


async def test_given_a_folder_that_is_not_there_then_the_nearest_are_named(
    service: Service,
) -> None:
    for place in ("/docs", "docs", "/", "/docs/r2021.txt"):
        await service.reading.check_folder(EVA, "default", place)
    with pytest.raises(UnknownFolder, match="/docs"):
        await service.reading.check_folder(EVA, "default", "/dcos")
    with pytest.raises(UnknownFolder) as caught:
        await service.reading.check_folder(EVA, "default", "/hidden.txt")
    assert "The nearest: /hidden" not in caught.value.message
    with pytest.raises(UnknownFolder) as caught:
        await service.reading.check_folder(EVA, "default", "/zzzz")
    assert "The nearest" not in caught.value.message


async def test_given_metadata_named_allowed_then_it_opens_nothing(
    service: Service, tmp_path: Path
) -> None:
    file = tmp_path / "private.txt"
    file.write_text("The salary of the chief is 1 million euros.")
    (tmp_path / "private.txt.meta.yaml").write_text("allowed: ['*']\ntenant: default\n")
    await ingest(service, IngestRequest((str(file),), allowed=("user:bob",)))
    assert await paths(service, "salary of the chief", where=eq("metadata.allowed", "*")) == []
    bob = Principal(user="bob")
    assert "/private.txt" in await paths(service, "salary of the chief", principal=bob)


async def test_given_metadata_that_cannot_be_stored_then_the_request_is_refused(
    service: Service,
) -> None:
    with pytest.raises(InputError, match="metadata"):
        await ingest(service, IngestRequest(("/x",), metadata={"a": {"b": 1}}))
