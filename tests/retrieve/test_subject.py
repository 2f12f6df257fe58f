"""What the question names is respected, and general words do nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.turn import Hit
from ragstone.retrieve.subject import LOWERED, weigh
from tests.engine.samples import a_chunk


def a_hit(
    path: str, text: str = "Hold the key for 8 seconds.", title: str = "", score: float = 1
) -> Hit:
    return Hit(a_chunk(text, path=path, title=title, document_id=path), score)


def factors(question: str, *hits: Hit) -> list[float]:
    return list(weigh(question, hits, openings={}).factors)


TERN = [a_hit(f"/tern/tern-{model}-manual.md") for model in (200, 300, 400)]


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("How do I reset the Tern 300?", [0, 1, 0]),
        ("how do i reset the tern300?", [0, 1, 0]),
        ("Wie setze ich die Tern 300 zurück?", [0, 1, 0]),
        ("Which is louder, the Tern 200 or the Tern 400?", [1, 0, 1]),
        ("And of the 400?", [0, 0, 1]),
        ("How do I reset it?", [1, 1, 1]),
        ("How do I reset it in 300 seconds?", [1, 1, 1]),
    ],
)
def test_given_a_model_then_manuals_of_others_are_left_out(
    question: str, kept: list[float]
) -> None:
    assert factors(question, *TERN) == kept


def test_given_a_model_that_no_document_has_then_none_of_its_kin_answers() -> None:
    assert factors("How do I reset the Tern 500?", *TERN) == [0, 0, 0]
    assert factors("What are the top 5 features?", a_hit("/top-10-features.md")) == [1]


def test_given_a_passage_that_says_the_version_itself_then_it_stays() -> None:
    hits = [a_hit("/jest-29.7/a.md"), a_hit("/jest-30.0/a.md", "Unlike Jest 29, this is gone.")]
    assert factors("What is in Jest 29?", *hits, a_hit("/jest-30.0/b.md")) == [1, LOWERED, 0]


def test_given_a_file_that_says_more_than_its_folder_then_the_file_counts() -> None:
    guide, other = a_hit("/jest-30.0/UpgradingToJest29.md"), a_hit("/jest-29.7/Config.md")
    assert factors("What does Jest 29 need?", guide, other) == [LOWERED, 1]
    assert factors("What is new in Jest 30?", guide, a_hit("/jest-30.0/b.md")) == [0, 1]


def test_given_a_version_alone_then_it_is_that_of_whatever_has_it() -> None:
    hits = [
        a_hit("/versioned_docs/version-29.7/cli.md"),
        a_hit("/versioned_docs/version-30.0/c.md"),
    ]
    assert factors("Which flags are there in v29.7?", *hits) == [1, 0]
    assert factors("Which flags are there in v31.2?", *hits) == [1, 1]


def test_given_a_number_of_something_else_then_it_does_nothing() -> None:
    hits = [a_hit("/docs/version-29.7/cli.md"), a_hit("/docs/version-30.0/c.md")]
    assert factors("Which versions run on Node 18?", *hits) == [1, 1]


def test_given_a_company_then_filings_of_others_are_left_out_and_of_other_years_too() -> None:
    amazon = [a_hit(f"/AMAZON_{year}_10K.pdf", "Marketing was 10,069.") for year in (2017, 2019)]
    adobe = a_hit("/ADOBE_2017_10K.pdf", "Marketing was 3,400.")
    assert factors("What did Amazon spend on marketing in 2017?", *amazon, adobe) == [1, 0, 0]
    assert factors("What did Amazon spend in 2012?", *amazon, adobe) == [1, 1, 0]


def test_given_documents_of_another_form_then_they_are_only_lowered() -> None:
    film = a_hit("/1", "A film of 1994 by Tim Burton.", title="Ed Wood")
    director = a_hit("/2", "Born in Burbank.", title="Tim Burton")
    assert factors("Where was the director of Ed Wood born?", film, director) == [1, LOWERED]


def test_given_two_words_that_a_path_has_as_one_then_they_are_the_subject() -> None:
    hits = [a_hit("/BESTBUY_2023.pdf", "Best Buy sells."), a_hit("/NETFLIX_2015.pdf", "A film.")]
    assert factors("How many stores does Best Buy have?", *hits)[1] < 1


def test_given_chinese_then_the_company_of_the_title_is_preferred() -> None:
    hits = [
        a_hit("/a.pdf", "收入为一百亿元。", title="华为2022年年报"),
        a_hit("/b.pdf", "收入为二十亿元。", title="中兴2022年年报"),
    ]
    assert factors("华为2022年的收入是多少？", *hits) == [1, LOWERED]


def test_given_a_word_of_any_passage_then_it_names_nothing() -> None:
    hits = [
        a_hit("/configuration.md", "The configuration is a file."),
        a_hit("/cli.md", "Where the configuration is read."),
        a_hit("/mocks.md", "No setting is needed."),
    ]
    assert factors("Where is the configuration?", *hits) == [1, 1, 1]
    assert factors("Where is the Configuration read?", *hits) == [1, 1, 1]


def test_given_a_document_far_behind_then_its_title_names_nothing() -> None:
    hits = [a_hit("/a.md", "Sierra county honours them.", score=1.0)]
    hits.append(a_hit("/b.md", "A court.", title="Courts of California", score=0.4))
    assert factors("Which county in California honours veterans?", *hits) == [1, 1]


names = st.sampled_from(["Tern 200", "Tern 300", "jest-29.7", "GPL", "Amazon 2017", "notes", ""])


@given(st.text() | names, st.lists(st.tuples(names, names, st.floats(0, 1)), max_size=8))
def test_given_anything_then_every_passage_keeps_a_share_and_what_is_named_is_told(
    question: str, documents: list[tuple[str, str, float]]
) -> None:
    hits = [a_hit(f"/{path}.md", text, score=score) for path, text, score in documents]
    found = weigh(question, hits, openings={})
    assert len(found.factors) == len(hits)
    assert all(0 <= factor <= 1 for factor in found.factors)
    assert found.names or set(found.factors) <= {1.0}


def test_given_a_file_by_its_name_then_others_are_left_out() -> None:
    hits = [a_hit(f"/notes/{name}", "Bring a coat.") for name in ("a.md", "b.md")]
    assert factors("What does b.md say of coats?", *hits) == [0, 1]
    assert factors("What does ab.md say of coats?", *hits) == [1, 1]


def test_given_a_file_that_documents_speak_of_then_it_is_what_is_asked_about() -> None:
    hits = [a_hit("/pyproject.toml", "name = 1"), a_hit("/guide.md", "Edit pyproject.toml.")]
    assert factors("What belongs in pyproject.toml?", *hits) == [1, 1]
