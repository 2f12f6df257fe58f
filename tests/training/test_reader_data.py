"""What the reader learns from is true where it says so, and false at the places that are marked."""

import random
from dataclasses import replace

import pytest

from training.reader.example import Example, Verdict, answer_with_words
from training.reader.invented import Inventor
from training.reader.statements import statement, whether
from training.reader.swaps import Swapper

SENTENCE = "In May 1904 Anna Keller sold the old mill to Paul Brandt for 3,200 marks."
NEAR = (
    "Anna Keller and Paul Brandt had met Ruth Vogel in 1899. The mill stood in March for 12 days."
)


@pytest.mark.parametrize("seed", range(60))
def test_a_changed_statement_differs_only_at_its_marked_places(seed: int) -> None:
    changed = Swapper(random.Random(seed)).changed(SENTENCE, NEAR)
    assert changed is not None
    assert changed.text != SENTENCE
    rest, at = "", 0
    for start, end in changed.places:
        rest += changed.text[at:start] + "\0"
        at = end
    parts = (rest + changed.text[at:]).split("\0")
    assert SENTENCE.startswith(parts[0])
    assert SENTENCE.endswith(parts[-1])
    assert all(part in SENTENCE for part in parts)


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("roles", "Anna Keller hired Paul Brandt.", "Paul Brandt hired Anna Keller."),
        ("negation", "The mill was sold.", "The mill was not sold."),
        ("negation", "The mill was not sold.", "The mill was sold."),
        ("negation", "Das Haus ist alt.", "Das Haus ist nicht alt."),
        ("negation", "橋は1950年に建設された。", "橋は1950年に建設されなかった。"),
    ],
)
def test_a_kind_of_change_can_be_asked_for(kind: str, text: str, wanted: str) -> None:
    changed = Swapper(random.Random(1)).changed(text, "", kind=kind)
    assert changed is not None
    assert changed.text == wanted


def test_given_names_that_are_merely_listed_then_they_are_not_exchanged() -> None:
    text = "They met Anna Keller and Paul Brandt."
    assert Swapper(random.Random(1)).changed(text, "", kind="roles") is None


@pytest.mark.parametrize(
    ("question", "answer", "wanted"),
    [
        ("Who designed the bridge?", "Ruth Vogel", "Ruth Vogel designed the bridge."),
        ("What is the capital of Norway?", "Oslo", "The capital of Norway is Oslo."),
        ("When was the bridge built?", "1932", "The bridge was built in 1932."),
        ("How many people live there?", "300", "300 people live there."),
        ("水桥是谁设计的？", "王伟", "水桥是王伟设计的。"),
        ("橋はいつ建設されましたか？", "1950年", "橋は1950年建設されました。"),
        ("Wer entwarf die Brücke?", "Ruth Vogel", "Wer entwarf die Brücke? Ruth Vogel"),
    ],
)
def test_a_question_and_its_answer_become_a_statement(
    question: str, answer: str, wanted: str
) -> None:
    assert statement(question, answer) == wanted


def test_what_is_invented_is_stated_of_the_thing_that_has_it() -> None:
    found = list(Inventor(random.Random(3)).examples(300))
    for item in found:
        if item.span:
            assert item.passage[slice(*item.span)].strip()
        if item.verdict is Verdict.SUPPORTED:
            assert item.wrong == ()
    assert {item.verdict for item in found} >= {
        Verdict.SUPPORTED,
        Verdict.CONTRADICTED,
        Verdict.NOT_SAID,
    }


@pytest.mark.parametrize(
    ("stated", "asked"),
    [
        ("The tower was built in 1889.", "Was the tower built in 1889?"),
        ("Oslo is the capital of Norway.", "Is Oslo the capital of Norway?"),
        ("There are nine seats.", "Are there nine seats?"),
        ("橋は1950年に建設された。", "橋は1950年に建設されたか？"),
        ("该桥建成于1932年。", "该桥建成于1932年吗？"),
        ("The pump is not sold here.", ""),
        ("In 1904 he was sold.", ""),
        ("该桥不对外开放。", ""),
    ],
)
def test_a_statement_becomes_a_question_for_yes_or_no(stated: str, asked: str) -> None:
    found = whether(stated)
    assert (found[0] if found else "") == asked


def test_where_a_yes_is_true_a_no_is_false() -> None:
    claim = Example("", "Oslo is old.", "Oslo is very old.", verdict=Verdict.SUPPORTED)
    yes, no = answer_with_words(claim, "Is Oslo old?", ("Yes.", "No."))
    assert (yes.text, yes.verdict, yes.wrong) == ("Is Oslo old? Yes.", Verdict.SUPPORTED, ())
    assert (no.verdict, no.wrong) == (Verdict.CONTRADICTED, ((13, 16),))
    unsaid = replace(claim, verdict=Verdict.NOT_SAID)
    both = [item.verdict for item in answer_with_words(unsaid, "Is Oslo old?", ("Yes.", "No."))]
    assert both == [Verdict.NOT_SAID, Verdict.NOT_SAID]
    assert not list(
        answer_with_words(replace(claim, verdict=Verdict.NOT), "Is Oslo old?", ("Yes.", "No."))
    )


def test_of_a_record_with_units_in_its_columns_the_number_is_the_answer() -> None:
    found = [
        example
        for example in Inventor(random.Random(4)).examples(300)
        if "_eur: " in example.passage
    ]
    spans = {item.passage[slice(*item.span)] for item in found if item.span}
    assert any(span.isdigit() for span in spans)


def test_a_pronoun_stands_for_what_the_passage_speaks_of() -> None:
    found = [
        example
        for example in Inventor(random.Random(4)).examples(300)
        if example.kind == "pronouns"
    ]
    assert {item.verdict for item in found} == {Verdict.SUPPORTED, Verdict.CONTRADICTED}
    assert all(item.wrong for item in found if item.verdict is Verdict.CONTRADICTED)
