"""Recognizers of text that packages bring."""

from collections.abc import Iterator

import pytest

from ragstone.ingest.formats import recognition
from tests.packages import Site, site

__all__ = ["site"]

EYES = """
class Eyes:
    def is_installed(self):
        raise RuntimeError("no camera")
    def read(self, pixels):
        return []
"""


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    recognition._find_recognizer.cache_clear()
    yield
    recognition._find_recognizer.cache_clear()


def test_a_recognizer_that_cannot_tell_whether_it_is_installed_is_left_out(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    before = recognition.is_installed()
    recognition._find_recognizer.cache_clear()
    site.add("eyes", {"ragstone.recognizers": {"eyes": "eyes_kind:Eyes"}}, eyes_kind=EYES)

    assert recognition.is_installed() == before
    assert "no camera" in caplog.text
