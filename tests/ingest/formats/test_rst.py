"""Reading reStructuredText with what Sphinx adds to it."""

from pathlib import Path

import pytest
from docutils.core import publish_string
from hypothesis import given
from hypothesis import strategies as st

from ragstone.ingest.document import Block
from tests.ingest.formats.reading import opened, read


def test_given_sections_when_read_then_the_first_is_the_title_and_levels_follow_the_marks(
    tmp_path: Path,
) -> None:
    source = (
        "Before.\n\n=====\nTitle\n=====\n\nText.\n\nPart\n----\n\nMore.\n\nNext\n----\n\nEnd.\n"
    )
    parsed = opened(tmp_path, "index.rst", source)
    assert parsed.title == "Title"
    assert [(b.text, b.level, b.label) for b in parsed.blocks if b.kind == "heading"] == [
        ("Title", 1, "title"),
        ("Part", 2, "part"),
        ("Next", 2, "next"),
    ]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("Some *text* goes\n**on**.", "Some text goes on."),
        ("Write ``<a href`` and ``hl[14]``.", "Write `<a href` and `hl[14]`."),
        ("See :ref:`the title <target>` and :doc:`/guide/first-steps`.",
         "See the title and first steps."),
        ("A :class:`~a.b.C` has :meth:`.run`, :py:func:`a.f`.", "A `C` has `run()`, `a.f()`."),
        ("Closed by :issue:`12` and :pep:`8`.", "Closed by #12 and PEP 8."),
        ("Press :kbd:`Ctrl+C` in :file:`a.py` or :any:`x <y>`.", "Press Ctrl+C in `a.py` or x."),
        ("See `the site <https://x.example>`_ and Other_.\n\n.. _Other: https://y.example",
         "See the site and Other."),
        ("A note [1]_ here.\n\n.. [1] The note.", "A note here."),
        ("The |name| is it.\n\n.. |name| replace:: long *name*", "The long name is it."),
        ("An escaped \\*star\\* stays.", "An escaped *star* stays."),
        ("Like this::\n\n    x", "Like this:"),
    ],
)  # fmt: skip
def test_given_inline_marks_when_read_then_only_what_is_seen_is_left(
    tmp_path: Path, source: str, shown: str
) -> None:
    assert read(tmp_path, "a.rst", source)[0].text == shown


def test_given_a_reference_to_a_section_here_when_read_then_its_title_is_shown(
    tmp_path: Path,
) -> None:
    source = "See :ref:`there`.\n\n.. _there:\n\nThe *other* part\n----------------\n\nText.\n"
    assert read(tmp_path, "a.rst", source)[0].text == "See The other part."


@pytest.mark.parametrize(
    "directive",
    [
        ".. toctree::\n   :maxdepth: 2\n\n   installation\n   Other <api>",
        ".. contents::\n   :local:",
        ".. automodule:: a.b\n   :members:",
        ".. currentmodule:: a",
        ".. a comment\n   over lines",
        ".. _label:",
        ".. raw:: latex\n\n   \\newpage",
        ".. index:: pair: a; b",
        ".. |x| replace:: y",
    ],
)
def test_given_instructions_to_sphinx_when_read_then_they_are_no_text(
    tmp_path: Path, directive: str
) -> None:
    assert read(tmp_path, "a.rst", f"Before.\n\n{directive}\n\nAfter.") == [
        Block("Before."),
        Block("After."),
    ]


@pytest.mark.parametrize("name", ["include", "literalinclude", "raw", "csv-table", "image"])
def test_given_another_file_when_read_then_it_is_not_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.txt").write_text("TOPSECRET")
    source = f"Text.\n\n.. {name}:: secret.txt\n   :file: secret.txt\n\nMore.\n"
    assert "TOPSECRET" not in " ".join(b.text for b in read(tmp_path, "a.rst", source))


def test_given_code_when_read_then_it_is_exact_with_its_language(tmp_path: Path) -> None:
    source = """Run::

    $ a  *b*

      c

.. code-block:: python
   :caption: a.py
   :emphasize-lines: 1

   def f():

       return `x`

>>> 1 + 1
2

.. code-tab:: js

   f();
"""
    assert read(tmp_path, "a.rst", source) == [
        Block("Run:"),
        Block("$ a  *b*\n\n  c", "code"),
        Block("def f():\n\n    return `x`", "code", label="python"),
        Block(">>> 1 + 1\n2", "code", label="pycon"),
        Block("f();", "code", label="js"),
    ]


def test_given_lists_when_read_then_each_item_has_its_number_and_nesting(tmp_path: Path) -> None:
    source = (
        "3. One\n   goes on\n4. Two\n\n   * inner **a**\n\n     a) deep\n\n   * inner b\n\n"
        "#. auto\n"
    )
    assert [(b.text, b.level, b.label) for b in read(tmp_path, "a.rst", source)] == [
        ("3. One goes on", 1, "3."),
        ("4. Two", 1, "4."),
        ("- inner a", 2, "-"),
        ("a) deep", 3, "a)"),
        ("- inner b", 2, "-"),
        ("5. auto", 1, "5."),
    ]


def test_given_tables_when_read_then_each_row_names_its_columns(tmp_path: Path) -> None:
    source = """
+------+---------------+
| Name | Days          |
|      +-------+-------+
|      | 2018  | 2019  |
+======+=======+=======+
| Ann  | 30    | 31    |
+------+-------+-------+

.. list-table:: In days
   :header-rows: 1
   :stub-columns: 1

   * - Name
     - 2018
   * - Bob
     - ``25``

===== =====
a     b
===== =====
"""
    assert [(b.text, b.kind, b.label) for b in read(tmp_path, "a.rst", source)] == [
        ("Name: Ann; Days 2018: 30; Days 2019: 31", "table", ""),
        ("In days", "caption", ""),
        ("Bob; 2018: `25`", "table", "In days"),
        ("a | b", "table", ""),
    ]


def test_given_notes_and_versions_when_read_then_they_say_what_they_are(tmp_path: Path) -> None:
    source = """
.. note:: Take *care*.

   And more.

.. admonition:: Watch out
   :class: warning

   Text.

.. seealso::

   :mod:`x`

.. versionadded:: 2.0

.. versionchanged:: 2.1
   Now *works*.

.. deprecated:: 3.0
    Use :func:`f`.
"""
    assert read(tmp_path, "a.rst", source) == [
        Block("Take care.", "admonition", label="note"),
        Block("And more.", "admonition", label="note"),
        Block("Watch out", "admonition", label="warning"),
        Block("Text.", "admonition", label="warning"),
        Block("`x`", "admonition", label="seealso"),
        Block("New in version 2.0."),
        Block("Changed in version 2.1: Now works."),
        Block("Deprecated since version 3.0: Use `f()`."),
    ]


def test_given_tabs_pictures_and_unknown_directives_when_read_then_their_text_survives(
    tmp_path: Path,
) -> None:
    source = """
.. tab:: Unix

   .. code-block:: sh

      go

.. figure:: a.png
   :alt: A door
   :width: what

   The *door*.

.. image:: b.png
   :alt: A window

.. somebodys-box:: A sentence here
   :option: 1

   With *text*.

.. raw:: html

   <p>From <b>HTML</b></p>
"""
    assert read(tmp_path, "a.rst", source) == [
        Block("Unix", "caption"),
        Block("go", "code", label="sh"),
        Block("The door.", "caption"),
        Block("A window", "caption"),
        Block("A sentence here"),
        Block("With text."),
        Block("From HTML"),
    ]


def test_given_descriptions_when_read_then_the_signature_heads_them(tmp_path: Path) -> None:
    source = """
Title
=====

.. py:function:: run(host=None, **kw)
   :noindex:

   Runs *it*.

   :param host: where
   :returns: nothing

-v, --verbose  Says more.

Term : kind
    The meaning.
"""
    assert read(tmp_path, "a.rst", source)[1:] == [
        Block("run(host=None, **kw)", "heading", 2),
        Block("Runs it."),
        Block("host: where", label="host"),
        Block("returns: nothing", label="returns"),
        Block("`-v`, `--verbose`: Says more.", label="`-v`, `--verbose`"),
        Block("Term (kind): The meaning.", label="Term (kind)"),
    ]


def test_given_terms_above_indented_text_when_read_then_they_are_defined_by_it(
    tmp_path: Path,
) -> None:
    source = (
        "``STOPPED`` (0)\n\n  It was stopped.\n\n  Or never ran.\n\n``RUNNING``\n\n  It runs.\n"
    )
    assert read(tmp_path, "a.rst", source) == [
        Block("`STOPPED` (0): It was stopped.", label="`STOPPED` (0)"),
        Block("Or never ran."),
        Block("`RUNNING`: It runs.", label="`RUNNING`"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "As the poet says\n\n  All is well.\n",
        "He said this.\n\n  All is well.\n\nShe said that.\n\n  It is not.\n",
    ],
)
def test_given_quotes_when_read_then_they_stay_quotes(tmp_path: Path, source: str) -> None:
    assert [item.kind for item in read(tmp_path, "a.rst", source)][1] == "quote"


def test_given_fields_at_the_top_when_read_then_they_are_metadata(tmp_path: Path) -> None:
    source = ":Author: Ann\n:Date: 2024-03-01\n:orphan:\n\nTitle\n=====\n\nText.\n"
    parsed = opened(tmp_path, "a.rst", source)
    assert (parsed.title, parsed.metadata) == (
        "Title",
        {"author": "Ann", "date": "2024-03-01", "created": "2024-03-01"},
    )
    assert next(parsed.blocks) == Block("Author: Ann\nDate: 2024-03-01", "header")


def test_given_mistakes_when_read_then_their_text_is_kept(tmp_path: Path) -> None:
    source = "Title\n==\n\nA *broken text.\n\n.. list-table::\n\n   no list in here\n\nEnd.\n"
    text = " ".join(block.text for block in read(tmp_path, "a.rst", source))
    for word in ("Title", "broken text.", "no list in here", "End."):
        assert word in text


def test_given_another_user_of_docutils_when_read_then_nothing_is_changed_for_it(
    tmp_path: Path,
) -> None:
    source = ".. note:: Text :sup:`2`.\n\n.. tab:: x\n\n:func:`f`\n"
    settings = {"report_level": 5, "output_encoding": "unicode"}
    before = publish_string(source, settings_overrides=settings)
    read(tmp_path, "a.rst", source)
    assert publish_string(source, settings_overrides=settings) == before


_PIECES = [
    ".. note::",
    ".. x:: y",
    "::",
    "\n",
    "\n\n",
    "   ",
    "====",
    "----",
    "* ",
    "1. ",
    "``",
    "*",
    "`a <b>`_",
    ":ref:`x`",
    "|s|",
    "+--+--+",
    "[1]_",
    "wort ",
    ".. [1] ",
    ":f: ",
    "Title\n=====\n",
    "\\",
    "_",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=30).map("".join))
def test_given_any_marks_when_read_then_blocks_have_text(
    tmp_path_factory: pytest.TempPathFactory, source: str
) -> None:
    found = read(tmp_path_factory.getbasetemp(), "any.rst", f"wort wort {source}")
    assert all(block.text.strip() for block in found)
    assert "wort" in " ".join(block.text for block in found)
