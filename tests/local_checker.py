"""The checker that ships, with one reader for all tests of a process: it takes a while to load."""

from functools import cache

from ragstone.reader.local import LocalReader
from ragstone.verify.checker import ReadingChecker


@cache
def local_reader() -> LocalReader:
    return LocalReader()


def local_checker() -> ReadingChecker:
    return ReadingChecker(local_reader())
