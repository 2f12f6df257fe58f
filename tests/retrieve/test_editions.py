"""Of several editions of one document the one in force answers, or the one that is asked for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.turn import Hit
from ragstone.retrieve.editions import find_superseded
from tests.engine.samples import a_chunk


def make_hit(path: str, text: str, score: float = 0.9, **changes: Any) -> Hit:
    return Hit(a_chunk(text, path=path, document_id=path, chunk_id=path, **changes), score)


def find_left(question: str, *hits: Hit, **openings: str) -> list[str]:
    """The paths of the hits that are neither left out nor lowered, without the slash."""
    told = {hit.chunk.path: openings.get(hit.chunk.title, hit.chunk.text) for hit in hits}
    found = find_superseded(question, dict(enumerate(hits)), told)
    kept = set(range(len(hits))) - found.gone - found.lowered
    return [hits[place].chunk.path.strip("/") for place in sorted(kept)]


def make_policies(name: str, text: str, *years: int) -> list[Hit]:
    return [make_hit(name.format(year), text.format(year % 100)) for year in years]


ENGLISH = make_policies("/travel-policy-{}.md", "The hotel limit is {} euros.", 2021, 2023, 2025)
GERMAN = make_policies("/Reisen_{}.pdf", "Ein Hotel kostet höchstens {} Euro.", 2023, 2025)
CHINESE = make_policies("/差旅管理办法{}.docx", "住宿费标准为每晚不超过{}元。", 2023, 2025)
FRENCH = make_policies("/voyages v{}.md", "Un hôtel coûte au plus {} euros.", 2023, 2025)


@pytest.mark.parametrize(
    ("question", "hits", "left"),
    [
        ("What is the hotel limit?", ENGLISH, "travel-policy-2025.md"),
        ("What is the current hotel limit?", ENGLISH, "travel-policy-2025.md"),
        ("What is the hotel limit in the latest policy?", ENGLISH, "travel-policy-2025.md"),
        ("What was the previous hotel limit?", ENGLISH, "travel-policy-2023.md"),
        ("What was the hotel limit in the oldest policy?", ENGLISH, "travel-policy-2021.md"),
        ("Was kostet ein Hotel höchstens?", GERMAN, "Reisen_2025.pdf"),
        ("Was kostete ein Hotel früher?", GERMAN, "Reisen_2023.pdf"),
        ("住宿费标准是多少？", CHINESE, "差旅管理办法2025.docx"),
        ("以前的住宿费标准是多少？", CHINESE, "差旅管理办法2023.docx"),
        ("Combien coûte un hôtel ?", FRENCH, "voyages v2025.md"),
    ],
)
def test_without_a_year_the_edition_in_force_answers(
    question: str, hits: list[Hit], left: str
) -> None:
    assert find_left(question, *hits) == [left]


@pytest.mark.parametrize(
    ("year", "left"),
    [(2021, 2021), (2022, 2021), (2023, 2023), (2024, 2023), (2025, 2025), (2026, 2025)],
)
def test_a_year_asks_for_the_edition_that_was_in_force_then(year: int, left: int) -> None:
    kept = find_left(f"What was the hotel limit in {year}?", *ENGLISH)

    assert kept == [f"travel-policy-{left}.md"]


@pytest.mark.parametrize(
    "question",
    ["How has the hotel limit changed?", "Wie hat sich das geändert?", "住宿费标准有什么变化？"],
)
def test_who_asks_for_a_change_gets_every_edition(question: str) -> None:
    assert len(find_left(question, *ENGLISH)) == 3


def test_what_only_an_older_edition_says_still_answers() -> None:
    older = make_hit("/rules-2020.md", "A rail card is paid for by the company.")
    newer = make_hit("/rules-2025.md", "Trains are booked in second class by the company.")

    assert len(find_left("Who pays for a rail card?", older, newer)) == 2


def test_minutes_of_the_year_before_answer_for_a_year() -> None:
    before = make_hit("/minutes-2023-12-14.md", "Elections for 2024. Ana Lopez is elected chair.")
    after = make_hit("/minutes-2024-12-12.md", "Elections for 2025. Jo Ferris is elected chair.")
    board = make_hit("/minutes-2024-03-07.md", "Chair Lopez opens. The surplus is 2,100 euros.")

    kept = find_left("Who was elected chair for 2024?", before, after, board)

    assert "minutes-2023-12-14.md" in kept


def test_records_of_other_customers_are_no_editions() -> None:
    january = make_hit("/invoice-2024-01-15.md", "The total for Acme is 1,200 euros.")
    february = make_hit("/invoice-2024-02-15.md", "The total for Borealis is 3,400 euros.")

    assert len(find_left("What is the total for Acme?", january, february)) == 2


def test_models_of_a_product_are_no_editions() -> None:
    hits = [make_hit(f"/tern-{n}.md", f"The tank holds {n} ml.") for n in (200, 300)]

    assert len(find_left("How much does the tank hold?", *hits)) == 2


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"metadata": {"valid_from": "2023-01-01"}}, {"metadata": {"valid_from": "2025-01-01"}}),
        ({"metadata": {"modified": "2023-01-01"}}, {"metadata": {"modified": "2025-01-01"}}),
        ({"subject": "version 1.2"}, {"subject": "version 1.10"}),
        ({"title": "Old fees"}, {"title": "Fees"}),
        ({"title": "Fees 2023"}, {"title": "Fees 2025", "metadata": {"modified": "2020-01-01"}}),
    ],
    ids=["valid-from", "modified", "version", "old", "a title counts more than a file"],
)
def test_the_order_is_told_by_whatever_says_it(older: Any, newer: Any) -> None:
    hits = [make_hit("/x.md", "A day costs 5 euros.", **{"title": "Fees", **older})]
    hits.append(make_hit("/y.md", "A day costs 7 euros.", **{"title": "Fees", **newer}))

    assert find_left("What does a day cost?", *hits) == ["y.md"]


@pytest.mark.parametrize(
    ("statement", "other"),
    [
        ("These rules replace nothing. They supersede the Home Office Guide.", ""),
        ("Diese Regeln ersetzen die Richtlinie „Home Office Guide“.", ""),
        ("Ce texte remplace le Home Office Guide.", ""),
        ("本办法取代 Home Office Guide。", ""),
        ("", "This guide, the Home Office Guide, is superseded by the Remote Work Rules."),
    ],
)
def test_a_statement_that_one_document_replaces_another_is_known(
    statement: str, other: str
) -> None:
    text = "Employees may work at home on {} days a week."
    old = make_hit("/a1.md", text.format("two"), title="Home Office Guide")
    new = make_hit("/b7.md", text.format("three"), title="Remote Work Rules")
    openings = {"Home Office Guide": other, "Remote Work Rules": statement}

    assert find_left("How many days may employees work at home?", old, new, **openings) == ["b7.md"]


def test_an_edition_that_does_not_count_yet_is_not_in_force() -> None:
    text = "Valid from 1 January {}. The fee is {} euros."
    hits = [make_hit(f"/fees-{y}.md", text.format(y, y % 100)) for y in (2024, 2098)]

    assert find_left("What is the fee?", *hits) == ["fees-2024.md"]


def test_documents_of_other_names_have_nothing_to_do_with_each_other() -> None:
    hits = [make_hit(f"/{name}.md", "The fee is 5 euros.") for name in ("club-2020", "pool-2025")]

    assert len(find_left("What is the fee?", *hits)) == 2


NAMES = st.sampled_from(["fees 2021", "fees 2025", "fees v2", "old fees", "fees", "2024", "notes"])
TEXTS = st.sampled_from(["The fee is 5.", "This replaces fees 2025.", "Superseded by fees v2.", ""])


@given(st.text() | st.sampled_from(["fee in 2023?", "previous fee?"]), st.data())
def test_of_any_documents_at_least_one_stays(question: str, data: st.DataObject) -> None:
    names = data.draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    hits = [make_hit(f"/{name}.md", data.draw(TEXTS), title=name) for name in names]
    openings = {hit.chunk.path: hit.chunk.text for hit in hits}

    found = find_superseded(question, dict(enumerate(hits)), openings)

    assert len(found.gone) < len(hits)
