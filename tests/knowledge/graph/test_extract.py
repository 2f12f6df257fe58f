"""What a chunk names, in languages with capitals and without."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.chunk import QUESTION
from ragstone.core.document import BlockSpan, encode_blocks
from ragstone.plugins.graph.entities import MAX_KEY_CHARS, EntityMention, entity_key
from ragstone.plugins.graph.extract import MAX_CHUNK_ENTITIES, extract_mentions
from tests.knowledge.graph.graphs import a_chunk


def named(text: str, **changes: object) -> dict[str, EntityMention]:
    return {mention.entity: mention for mention in extract_mentions(a_chunk(text, **changes))}


@pytest.mark.parametrize(
    "spellings",
    [
        ("Möngke Khan", "MONGKE KHAN's", "mongke khan"),
        ("The Walt Disney Company", "Walt Disney", "Walt  Disney Co."),
        ("Dr. Ada Thornbury", "Ada Thornbury’s", "ada-thornbury"),
        ("W.H.O.", "WHO", "WHO's"),
        ("삼성전자", "삼성전자"),
    ],
)
def test_given_spellings_of_a_name_then_they_have_one_key(spellings: tuple[str, ...]) -> None:
    assert len({entity_key(spelling) for spelling in spellings}) == 1


def test_given_an_abbreviation_then_it_is_not_the_small_word() -> None:
    assert entity_key("WHO") != entity_key("who")


@given(st.text(max_size=200))
def test_given_any_text_then_its_key_is_its_own_key_or_none(text: str) -> None:
    key = entity_key(text)
    assert len(key) <= MAX_KEY_CHARS
    assert "\n" not in key


@given(st.text(max_size=400), st.sampled_from(["en", "de", "zh", ""]))
def test_given_any_text_then_each_entity_is_named_once_and_what_is_the_same_is_there(
    text: str, language: str
) -> None:
    found = extract_mentions(a_chunk(text, title=text[:50], language=language))
    keys = [item.entity for item in found]
    assert len(keys) == len(set(keys)) <= MAX_CHUNK_ENTITIES
    assert all(item.count > 0 and item.name and item.entity for item in found)
    assert {item.same for item in found} <= {"", *keys}


def test_given_english_then_names_are_found_and_what_only_opens_a_sentence_is_not() -> None:
    found = named("Yesterday it rained. The ship Meridian left Glasgow with Ada Thornbury.")
    assert found.keys() == {"meridian", "glasgow", "ada thornbury"}


class Known:
    """A recognizer of English that knows one name."""

    name = "known"

    def names(self, text: str, language: str) -> list[str] | None:
        return ["quiet harbour"] * text.count("quiet harbour") if language == "en" else None


def test_given_a_recognizer_then_it_says_what_names_are_in_its_languages() -> None:
    text = "So Ada Thornbury slept in the quiet harbour of the NASA."
    english = {mention.entity: mention.kind for mention in extract_mentions(a_chunk(text), Known())}
    assert english == {entity_key("quiet harbour"): "name", "NASA": "term"}
    german = a_chunk(text, language="de")
    assert extract_mentions(german, Known()) == extract_mentions(german)


def test_given_a_part_of_a_name_then_it_counts_for_the_whole_name() -> None:
    found = named("So it was Thornbury who left. Later Thornbury slept.", title="Ada Thornbury")
    assert found.keys() == {"ada thornbury"}
    assert (found["ada thornbury"].kind, found["ada thornbury"].count) == ("title", 3)


def test_given_two_names_that_a_part_may_mean_then_it_stays_by_itself() -> None:
    found = named("We met Ada Thornbury and Eve Thornbury. Then Thornbury left for Oslo.")
    assert {"ada thornbury", "eve thornbury", "thornbury"} <= found.keys()


def test_given_a_short_name_in_brackets_then_both_are_the_same() -> None:
    found = named("It was the World Health Organization (WHO) that said so.")
    assert found["WHO"].same == "world health organization"
    assert found["world health organization"].same == "WHO"


def test_given_brackets_that_abbreviate_nothing_then_nothing_is_the_same() -> None:
    found = named("We saw the Blue Whale Society (XQZ) in Oslo.")
    assert not any(item.same for item in found.values())


def test_given_german_then_a_noun_counts_only_if_it_is_repeated() -> None:
    text = "Die Pumpe der Deutsche Bahn AG ist alt. Der Vorstand prüft. Den Vorstand leitet Palla."
    found = named(text, language="de")
    assert found.keys() == {"deutsche bahn", "vorstand"}


@pytest.mark.parametrize(
    ("language", "title", "text", "keys"),
    [
        ("zh", "", "《红楼梦》是曹雪芹的小说。曹雪芹在南京。", {"红楼梦", "曹雪芹", "南京"}),
        ("ja", "", "「源氏物語」はマイクロソフトで読まれた。", {"源氏物語", "マイクロソフト"}),
        ("ko", "", "삼성전자는 서울에 있다. 삼성전자의 회장.", {"삼성전자"}),
        ("ru", "Лев Толстой", "Толстой написал «Война и мир».", {"лев толстои", "воина и мир"}),
        ("de", "", "Sie las „Der Zauberberg“ laut.", {"zauberberg"}),
        ("fr", "", "Elle habite « La Maison Bleue » à Lyon.", {"maison bleue", "lyon"}),
        ("ar", "محمود درويش", "كتب قصيدة", {"محمود درويش"}),
    ],
)  # fmt: skip
def test_given_a_language_then_its_names_are_found(
    language: str, title: str, text: str, keys: set[str]
) -> None:
    assert keys <= named(text, language=language, title=title).keys()


def test_given_codes_abbreviations_and_addresses_then_they_are_terms_and_links() -> None:
    found = named("Call get_user_name of NASA on A-320, see https://example.org/docs/api.")
    kinds = {item.entity: item.kind for item in found.values()}
    assert {"NASA", "a 320"} <= kinds.keys()
    assert kinds["get user name"] == "term"
    assert kinds["example.org docs api"] == "link"


def test_given_a_table_then_the_first_cells_of_its_rows_are_keys() -> None:
    text = "Device: ventilator; Price: 31400\nDevice: infusion pump; Price: 900"
    layout = encode_blocks((BlockSpan("table", 0, len(text)),))
    found = named(text, kind="table", layout=layout)
    assert {item.entity for item in found.values() if item.kind == "key"} == {
        "ventilator",
        "infusion pump",
    }


def test_given_headings_and_a_long_title_then_short_ones_are_names() -> None:
    long = "How the ships of the North Sea Company were built when nobody had time for it"
    found = named("it floats", title=long, section=("Ships", "Rudder bolts"))
    assert {"ships", "rudder bolts", "north sea"} <= found.keys()


@pytest.mark.parametrize("kind", [QUESTION, "toc", "credits"])
def test_given_what_is_no_text_or_lists_everything_then_it_names_nothing(kind: str) -> None:
    assert extract_mentions(a_chunk("Ada Thornbury sailed to Glasgow.", kind=kind)) == []


def test_given_a_chunk_that_names_too_much_then_the_title_stays() -> None:
    text = " and ".join(f"Captain Smith{chr(65 + i // 26)}{chr(97 + i % 26)}" for i in range(90))
    found = extract_mentions(a_chunk(text, title="Crew"))
    assert len(found) == MAX_CHUNK_ENTITIES
    assert found[0].entity == "crew"
