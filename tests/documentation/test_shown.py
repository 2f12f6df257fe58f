"""Which outputs count as the one that is shown."""

import pytest

from tests.documentation.pages import read, steps
from tests.documentation.shown import fits

PAGE = """Text `ragstone ask`.

<!-- not run: needs a key -->
```console
$ a \\
  b
x
$ c
```
<!-- not run: lost -->

More.

  ```sh
  d
    e
  ```
<!-- starts empty -->
"""


@pytest.mark.parametrize(
    ("shown", "written"),
    [
        ("5 indexed; 13 chunks in 2.5 s", "5 indexed; 13 chunks in 10.1 s"),
        ("2026-11-22 15:59  a", "2027-01-02 03:04    a"),
        ("key 189fb76075ef824a", "key 0000000000000000"),
        ("first\n...\nlast", "first\nx\ny\nlast"),
        ("first\n...\nlast", "first\nlast"),
        ("the secret is ...", "the secret is xyz"),
        ("line  \n\n", "line"),
    ],
)
def test_given_other_times_ids_and_gaps_then_it_is_the_same(shown: str, written: str) -> None:
    assert fits(shown, written)


@pytest.mark.parametrize(
    ("shown", "written"),
    [
        ("5 indexed; 13 chunks in 2.5 s", "4 indexed; 13 chunks in 2.5 s"),
        ("31 days", "32 days"),
        ("first\nlast", "first\nx\nlast"),
        ("first", ""),
        ("a.c", "abc"),
    ],
)
def test_given_other_words_or_lines_then_it_is_another(shown: str, written: str) -> None:
    assert not fits(shown, written)


def test_given_a_page_then_its_fences_with_what_is_said_above_them() -> None:
    page = read("p.md", PAGE)
    first, second = page.blocks
    assert (first.line, first.not_run, second.not_run) == (4, "needs a key", "")
    found = [(step.command, step.output) for step in steps(first)]
    assert found == [("a \\\n  b", "x\n"), ("c", "")]
    assert second.text == "d\n  e\n"
    assert page.empty
    assert page.spans == ["ragstone ask"]
