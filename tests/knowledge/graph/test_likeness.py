"""Spellings of a name are one entity, other names are not."""

import pytest

from ragstone.plugins.graph.likeness import alike, alike_pairs


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("neural network", "neural networks"),
        ("ada thornbury", "ada thornburry"),
        ("tchaikovsky", "tchaikovskiy"),
        ("northmoor instruments", "northmoor instrument"),
    ],
)
def test_given_spellings_of_a_name_then_they_are_alike(one: str, other: str) -> None:
    assert alike(one, other)
    assert alike(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("lantern 3 manual", "lantern 2 manual"),
        ("eastern front", "western front"),
        ("ada thornbury", "eve thornbury"),
        ("iran", "iraq"),
        ("annual report 2023", "annual report 2024"),
        ("north sea company", "north sea"),
        ("thornbury", "thornbury"),
    ],
)
def test_given_other_names_then_they_are_not(one: str, other: str) -> None:
    assert not alike(one, other)


def test_given_keys_in_any_order_then_the_pairs_are_the_same() -> None:
    keys = ["neural networks", "oslo", "neural network", "ada thornbury", "ada thornburry"]
    pairs = [("ada thornburry", "ada thornbury"), ("neural network", "neural networks")]
    assert list(alike_pairs(keys)) == list(alike_pairs(reversed(keys))) == pairs
