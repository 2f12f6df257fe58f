"""Here the reader itself is tested."""

from collections.abc import Iterator

import pytest

from tests.remembered_models import computing


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> Iterator[None]:
    with computing():
        yield
