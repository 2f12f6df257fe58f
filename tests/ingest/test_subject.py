"""The document's own subject, read from its path, metadata and beginning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.ingest.subject import MAX_SUBJECT_CHARS, find_subject


@pytest.mark.parametrize(
    ("title", "path", "expected"),
    [
        ("Jest CLI Options", "/versions/jest-29.7/CLI.md", "jest 29.7"),
        ("ADBE 10-K FY22", "/ADOBE_2022_10K.pdf", "ADOBE 2022 10K"),
        ("cli", "versioned_docs/version-29.7/cli.md", "version 29.7"),
        ("Tern 300 manual", "/tern/tern-300-manual.md", ""),
        ("scan", "/in/scan20230412093000.pdf", ""),
        ("A page", "/d41d8cd98f00b204.txt", ""),
    ],
)
def test_given_a_path_then_what_the_title_lacks_is_the_subject(
    title: str, path: str, expected: str
) -> None:
    assert find_subject(title, path, {}, "") == expected


@pytest.mark.parametrize(
    ("opening", "expected"),
    [
        ("For the fiscal year ended December 31, 2017\nAMAZON.COM, INC.", "AMAZON.COM 2017"),
        ("Northmoor Instruments GmbH, Geschäftsjahr 2024", "Northmoor Instruments 2024"),
        ("华为投资控股有限公司 2022年年度报告", "华为投资控股有限公司 2022"),
        ("Handbook, version 2.1", "version 2.1"),
        ("A tale of two cities.", ""),
    ],
)
def test_given_a_title_page_then_company_year_and_version_are_the_subject(
    opening: str, expected: str
) -> None:
    assert find_subject("report", "/report.pdf", {}, opening) == expected


def test_given_metadata_then_what_it_calls_product_or_version_is_the_subject() -> None:
    metadata = {"product": "Lantern", "version": "3.2", "author": "Ada", "pages": 4}
    assert find_subject("Manual", "/manual.md", metadata, "") == "Lantern version 3.2"


@given(st.text(), st.text(), st.text())
def test_given_anything_then_the_subject_is_short(title: str, path: str, opening: str) -> None:
    assert len(find_subject(title, path, {"product": title}, opening)) <= MAX_SUBJECT_CHARS
