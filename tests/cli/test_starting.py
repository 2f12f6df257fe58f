"""The collector of garbage rests while a server starts."""

import gc

import pytest

from ragstone.cli.starting import uncollected


def test_it_rests_until_the_start_is_over() -> None:
    with uncollected() as started:
        assert not gc.isenabled()
        before = gc.get_freeze_count()
        started()
        assert gc.isenabled()
        assert gc.get_freeze_count() > before
    gc.unfreeze()


def test_given_a_start_that_fails_then_it_works_again() -> None:
    with pytest.raises(ValueError, match="no"), uncollected():
        raise ValueError("no")
    assert gc.isenabled()
