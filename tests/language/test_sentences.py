"""Sentence splitting in many languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.sentences import sentences, whole_sentences


def split(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("It cost 3.50 euros. Fine.", ["It cost 3.50 euros.", "Fine."]),
        ("Dr. Smith met J. K. Rowling. They talked.", None),
        (
            "Brown v. Board of Education ended it. Schools changed.",
            ["Brown v. Board of Education ended it.", "Schools changed."],
        ),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("Er kam z.B. am 3. Mai an. Dann ging er.", None),
        ("Wirklich? Ja.", ["Wirklich?", "Ja."]),
        ("¿Cuándo? En 1999.", ["¿Cuándo?", "En 1999."]),
        ("他来了。她走了！真的吗？", ["他来了。", "她走了！", "真的吗？"]),
        ("彼は「はい。」と言った。終わり。", None),
        ("그는 왔다. 그녀는 갔다.", ["그는 왔다.", "그녀는 갔다."]),
        ("वह आया। वह गया।", ["वह आया।", "वह गया।"]),
        ("هل جاء؟ نعم.", ["هل جاء؟", "نعم."]),
        ("Items:\n- first thing\n- second thing", ["Items:", "- first thing", "- second thing"]),
        ("a | b\n1 | 2", ["a | b", "1 | 2"]),
        ("a: 1; b: two\na: 2; b: three", ["a: 1; b: two", "a: 2; b: three"]),
        ("A line that was wrapped because\nit was full.", None),
        ("Open to the\nQueen of Spain.", ["Open to the\nQueen of Spain."]),
        ("Title\n\nText follows.", ["Title", "Text follows."]),
        (
            "The U.S. Army won. He is in the U.S. He likes it.",
            ["The U.S. Army won.", "He is in the U.S.", "He likes it."],
        ),
        ("Built in 1871.[3] It stands.", ["Built in 1871.[3]", "It stands."]),
        ("It is so.[1][2] Next.", ["It is so.[1][2]", "Next."]),
        ("« Oui. » Il part.", ["« Oui. »", "Il part."]),
        ("Er sagte: „Ja.“ Dann ging er.", ["Er sagte: „Ja.“", "Dann ging er."]),
        ("Am 3. Mai im 19. Jahrhundert. Gut.", ["Am 3. Mai im 19. Jahrhundert.", "Gut."]),
        ("1. First item. 2. Second item.", ["1. First item.", "2. Second item."]),
        ("He scored 9. Then 10.", ["He scored 9.", "Then 10."]),
        ("Er sagte es am 2. Tag. Gut.", ["Er sagte es am 2. Tag.", "Gut."]),
        ("Nr. 5 und Abs. 2 S. 3 gelten. Ja.", ["Nr. 5 und Abs. 2 S. 3 gelten.", "Ja."]),
        ("M. Dupont, etc. Elle part.", ["M. Dupont, etc.", "Elle part."]),
        (
            "El Sr. Paz vive en EE. UU. desde 1990. Véase pág. 5.",
            ["El Sr. Paz vive en EE. UU. desde 1990.", "Véase pág. 5."],
        ),
        ("The answer is no. Then he left.", ["The answer is no.", "Then he left."]),
        ("A Pharm. D. degree. Yes.", ["A Pharm. D. degree.", "Yes."]),
        ("Vitamin C. It helps.", ["Vitamin C.", "It helps."]),
        ("He left... and came. Well... Then no.", ["He left... and came.", "Well...", "Then no."]),
        ('"Why?" he asked. "Yes!" Then no.', ['"Why?" he asked.', '"Yes!"', "Then no."]),
        ("It is so.[page needed] Next.", ["It is so.[page needed]", "Next."]),
        ("彼は「はい。」と言った。終わり。", ["彼は「はい。」と言った。", "終わり。"]),
        ("그는 왔다.그녀는 갔다.", ["그는 왔다.", "그녀는 갔다."]),
        ("他想……然后走了。“好。”她说。", ["他想……然后走了。", "“好。”", "她说。"]),
        ("", []),
        ("  \n ", []),
    ],
)
def test_given_text_then_its_sentences(text: str, expected: list[str] | None) -> None:
    found = split(text)
    if expected is not None:
        assert found == expected
    elif "Rowling" in text:
        assert found == ["Dr. Smith met J. K. Rowling.", "They talked."]
    elif "wrapped" in text:
        assert found == [text]
    elif "Mai" in text:
        assert found[-1] == "Dann ging er."
    else:
        assert found[-1] == "終わり。"


@given(st.text(alphabet="ab .!?\n。「」1)-|A", max_size=80))
def test_spans_are_in_order_apart_and_cover_all_that_is_not_space(text: str) -> None:
    spans = sentences(text)
    covered = set()
    last = 0
    for span in spans:
        assert last <= span.start < span.end <= len(text)
        assert text[span.start : span.end] == text[span.start : span.end].strip()
        covered.update(range(span.start, span.end))
        last = span.end
    assert all(i in covered for i, character in enumerate(text) if not character.isspace())


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "piece", ["." * 9 + "x", ".", "a: ", "1. ", '"', "\n", " ", "|", "U.S. ", "$$\n", "\\[\n "]
)
def test_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    sentences(piece * 30_000 + "x\nX")


def test_given_a_text_again_then_the_same_spans_in_a_list_of_ones_own() -> None:
    first = sentences("One. Two.")
    first.clear()
    assert split("One. Two.") == ["One.", "Two."]
    assert len(sentences("Long one. " * 2000)) == 2000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Article 1. This law applies. Article 2. It ends.",
            ["Article 1. This law applies.", "Article 2. It ends."],
        ),
        ("§ 5. Wer das tut, haftet. Sonst nicht.", ["§ 5. Wer das tut, haftet.", "Sonst nicht."]),
        ("Chapter II. Of Persons.", ["Chapter II. Of Persons."]),
        ("Clause 12.3. The Seller pays.", ["Clause 12.3. The Seller pays."]),
        ("See Article 5. The fee is due.", ["See Article 5.", "The fee is due."]),
        ("Section 4.\nThe fee is due.", ["Section 4.", "The fee is due."]),
    ],
)
def test_the_number_of_a_part_belongs_to_its_text(text: str, expected: list[str]) -> None:
    assert [text[span.start : span.end] for span in sentences(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Say `one. Two` now. Then `go!`.", ["Say `one. Two` now.", "Then `go!`."]),
        ("Run `a`. `b` is next.", ["Run `a`.", "`b` is next."]),
        ("One ` alone. Two.", ["One ` alone.", "Two."]),
        ("It is:\n$$\na = b.\n= c\n$$\nSo. Yes.", ["It is:", "$$\na = b.\n= c\n$$", "So.", "Yes."]),
        ("So \\[ a. \n b. \\] is. Yes.", ["So \\[ a. \n b. \\] is.", "Yes."]),
        ("It costs $$. And\n\nmore. $$ too.", ["It costs $$.", "And", "more.", "$$ too."]),
    ],
)
def test_no_sentence_ends_in_a_code_span_or_a_displayed_formula(
    text: str, expected: list[str]
) -> None:
    assert [text[span.start : span.end] for span in sentences(text)] == expected


TOLD = "Whales sing. Dolphins click and whistle at night. Seals bark. Otters hold hands."


@pytest.mark.parametrize(
    ("place", "reach", "expected"),
    [
        ("Seals bark.", 0, "Seals bark."),
        ("Seals bark.", 25, "Seals bark. Otters hold hands."),
        ("Seals bark.", 40, "Dolphins click and whistle at night. Seals bark. Otters hold hands."),
        ("click", 3, "ns click an"),
        ("click", 60, TOLD),
    ],
)
def test_what_stands_about_a_place_is_whole_sentences(
    place: str, reach: int, expected: str
) -> None:
    at = TOLD.index(place)
    start, end = whole_sentences(TOLD, at, at + len(place), reach)
    assert TOLD[start:end] == expected


@given(st.text(alphabet="ab .!?\n", max_size=80), st.data())
def test_what_stands_about_a_place_holds_it_and_is_within_reach(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    reach = data.draw(st.integers(0, 100))
    first, last = whole_sentences(text, start, end, reach)
    assert max(0, start - reach) <= first <= start
    assert end <= last <= min(len(text), end + reach)
