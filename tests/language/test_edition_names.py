"""What the names of documents and their first lines say of when and of which version they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.edition_names import EditionName, read_edition_name


@pytest.mark.parametrize(
    ("name", "key", "day"),
    [
        ("travel-policy-2025", "travel policy", (2025,)),
        ("TravelPolicy2022", "travelpolicy", (2022,)),
        ("Reisekosten, Stand 01.03.2025", "reisekosten stand", (2025, 3, 1)),
        ("Protokoll vom 1. März 2024", "protokoll", (2024, 3, 1)),
        ("Compte rendu du 3 mars 2024", "compte rendu", (2024, 3, 3)),
        ("Acta del 5 de mayo de 2023", "acta", (2023, 5, 5)),
        ("Minutes, December 14, 2023", "minutes", (2023, 12, 14)),
        ("差旅管理办法（2023年版）", "差旅管理办法", (2023,)),
        ("規程2024年4月1日", "規程", (2024, 4, 1)),
        ("AMAZON_2017_10K", "amazon 10k", (2017,)),
        ("MGM_2023Q2_10Q", "mgm 10q", (2023, 4)),
        ("20240115_report", "report", (2024, 1, 15)),
        ("Handbook 2023-24", "handbook", (2023,)),
    ],
)
def test_a_date_is_read_from_a_name_in_any_of_its_forms(
    name: str, key: str, day: tuple[int, ...]
) -> None:
    assert read_edition_name(name) == EditionName(key, (day,))


@pytest.mark.parametrize(
    ("name", "key", "version"),
    [
        ("politique-voyage-v3", "politique voyage", (3,)),
        ("Handbuch, 3. Auflage", "handbuch", (3,)),
        ("Handbook, 2nd edition", "handbook", (2,)),
        ("员工手册第3版", "员工手册", (3,)),
        ("jest-29.7", "jest", (29, 7)),
        ("[3.0.0]", "", (3, 0, 0)),
    ],
)
def test_a_version_is_read_from_a_name(name: str, key: str, version: tuple[int, ...]) -> None:
    assert read_edition_name(name) == EditionName(key, versions=(version,))


@pytest.mark.parametrize(
    "name", ["tern-300-manual", "Windows 11", "UpgradingToJest29", "GPLv3", "2.3 Leave", "10 tips"]
)
def test_the_number_of_a_model_or_a_section_is_no_version(name: str) -> None:
    found = read_edition_name(name)

    assert not found.dates
    assert not found.versions


@pytest.mark.parametrize(
    ("name", "standing"),
    [("policy_old", -1), ("旧版价格表", -1), ("Neue Preise", 1), ("prices", 0)],
)
def test_a_name_says_that_it_is_old_or_new(name: str, standing: int) -> None:
    assert read_edition_name(name).standing == standing


@given(st.text(), st.booleans())
def test_any_text_can_be_read(text: str, is_name: bool) -> None:
    found = read_edition_name(text, is_name)

    assert all(1900 <= day[0] < 2100 and len(day) <= 3 for day in found.dates)
