"""What is invented for the reader follows from its passage, or is contradicted by it."""

import random
import re

import pytest

from training.reader.example import Verdict
from training.reader.reasoned import Reasoner, capitalize, load_languages, spell

LANGUAGES = ("en", "de", "zh", "fr", "es", "ja")
EXAMPLES = list(Reasoner(random.Random(3)).examples(4000))


STATED = {
    capitalize(text.format(s=item)): (form, item, denies)
    for language in load_languages().values()
    for form in language["lists"]
    for item in (item for group in form["items"].values() for item in group)
    for said in form["said"]
    for denies, text in enumerate(said)
}
"""What is claimed of items of lists: of which list and item, and whether the claim denies it."""


def test_an_item_is_what_the_nearest_line_above_its_list_says() -> None:
    claims = [e for e in EXAMPLES if e.text in STATED and e.verdict is not Verdict.NOT_SAID]

    assert len(claims) > 300
    for example in claims:
        form, item, denies = STATED[example.text]
        before = example.passage.casefold().partition(item.casefold())[0]
        # One line may be the end of the other: "(Nicht) im Preis enthalten sind:".
        leads = [
            (before.rfind(lead.casefold()) + len(lead), len(lead), side)
            for side, name in enumerate(("yes", "no"))
            for lead in form[name]
            if lead.casefold() in before
        ]
        wanted = Verdict.SUPPORTED if max(leads)[2] == denies else Verdict.CONTRADICTED
        assert example.verdict is wanted, example


def test_an_item_is_asked_for_with_yes_and_no_under_lines_that_state_and_deny() -> None:
    asked = [example for example in EXAMPLES if example.kind == "whether"]

    ends = {(example.text.split()[-1], example.verdict.name) for example in asked}
    for yes_or_no in ("Yes.", "No.", "Ja.", "Nein.", "是。", "否。", "Oui.", "Non.", "Sí."):
        assert (yes_or_no, "SUPPORTED") in ends
        assert (yes_or_no, "CONTRADICTED") in ends


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_has_lists_requirements_and_numbers(code: str) -> None:
    language = load_languages()[code]

    assert any("both" in form for form in language["lists"])
    assert any("both" not in form for form in language["lists"])
    assert {form["kind"] for form in language["numbers"]} >= {"count", "price", "money", "time"}


def test_of_one_of_several_documents_one_is_enough_and_of_all_it_is_not() -> None:
    claims = {
        (example.text, example.verdict)
        for example in EXAMPLES
        if re.search(r"one of:", example.passage) and "passport alone is" in example.text
    }

    assert ("A passport alone is enough.", Verdict.SUPPORTED) in claims
    assert ("A passport alone is enough.", Verdict.CONTRADICTED) not in claims


@pytest.mark.parametrize(
    ("code", "kind", "value", "wanted"),
    [
        ("en", "count", 4500, ["4500", "4,500"]),
        ("de", "count", 4500, ["4500", "4.500"]),
        ("en", "price", 1250, ["12.50", "12,50"]),
        ("en", "money", 12, ["1.2 million", "1,200,000"]),
        ("fr", "money", 24, ["2,4 millions d'euros", "2 400 000 euros"]),
        ("zh", "money", 12, ["120万", "1,200,000"]),
        ("en", "time", 2, ["2 weeks", "two weeks", "14 days"]),
        ("ja", "time", 3, ["3週間", "三週間", "21日"]),
    ],
)
def test_a_number_is_spelled_in_each_way(
    code: str, kind: str, value: int, wanted: list[str]
) -> None:
    language = load_languages()[code]
    forms = next(form["spelled"] for form in language["numbers"] if form["kind"] == kind)

    assert spell(value, forms, language) == wanted


def test_a_wrong_number_has_the_digits_of_the_right_one_exchanged() -> None:
    found = [
        example
        for example in EXAMPLES
        if (match := re.fullmatch(r"([A-Z][a-z]+) has ([\d,]+) members\.", example.text))
        and (re.search(rf"{match[1]} has [\d,]+ members", example.passage))
    ]

    assert {example.verdict for example in found} == {Verdict.SUPPORTED, Verdict.CONTRADICTED}
    for example in found:
        name, *_ = example.text.split()
        stated = re.search(rf"{name} has ([\d,]+)", example.passage)
        said = re.sub(r"\D", "", example.text)
        right = re.sub(r"\D", "", stated[1]) if stated else ""
        assert (said == right) is (example.verdict is Verdict.SUPPORTED)
        assert sorted(said) == sorted(right) or int(said) == int(right) + 1


def test_what_is_marked_wrong_stands_in_the_claim_and_an_answer_in_the_passage() -> None:
    for example in EXAMPLES:
        assert example.wrong == () or example.verdict is not Verdict.SUPPORTED
        assert all(example.text[start:end].strip() for start, end in example.wrong or ())
        assert example.question == (example.answers is not None)
        assert (example.span is not None) == bool(example.answers)
        if example.span:
            assert example.passage[slice(*example.span)].strip()
