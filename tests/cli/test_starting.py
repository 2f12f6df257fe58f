"""The collector of garbage rests while a server starts, and in commands."""

import gc
import subprocess
import sys

import pytest

from ragstone.cli.running import USUAL, pause_garbage_collection


def test_it_rests_until_the_start_is_over() -> None:
    with pause_garbage_collection() as started:
        assert not gc.isenabled()
        before = gc.get_freeze_count()
        started()
        assert gc.isenabled()
        assert gc.get_freeze_count() > before
        assert gc.get_threshold() == USUAL
    gc.unfreeze()


def test_given_a_start_that_fails_then_it_works_again() -> None:
    with pytest.raises(ValueError, match="no"), pause_garbage_collection():
        raise ValueError("no")
    assert gc.isenabled()


def test_given_a_command_then_little_is_looked_through_and_nothing_at_its_end() -> None:
    """What is registered first is called last at the end of a process."""
    code = """
import atexit, gc, sys
atexit.register(lambda: print(gc.get_threshold()[0], gc.get_freeze_count() > 10_000))
from ragstone.cli import main
sys.argv = ["ragstone", "version"]
main()
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "50000 True"
