"""Each source has an address of its own, and a list of sources can be taken off again."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.source import Source, hit_sources
from ragstone.http.addresses import source_addresses, source_list, without_source_list
from tests.fake_service import HITS

BASE = "https://docs.example.com"
ONE = hit_sources(HITS)[0]


def of(*sources: Source) -> list[str]:
    return source_addresses(sources, "my docs", BASE)


def web(url: str, snippet: str = "The fee is 5 - 7, or so", page: int | None = None) -> Source:
    return replace(ONE, metadata={"url": url}, snippet=snippet, page=page)


def test_a_document_opens_in_the_web_app_at_the_page_and_sentence() -> None:
    assert of(ONE) == [f"{BASE}/#/documents/my%20docs/d1/10-60/page=1"]
    assert of(replace(ONE, page=None, document_id="a/b")) == [
        f"{BASE}/#/documents/my%20docs/a%2Fb/10-60"
    ]


def test_a_web_page_has_its_own_address_and_the_next_source_of_it_its_words() -> None:
    url = "https://example.org/fees"
    assert of(web(url), web(url), web(url)) == [
        url,
        f"{url}#:~:text=The%20fee%20is%205%20%2D%207%2C%20or%20so",
        f"{BASE}/#/documents/my%20docs/d1/10-60",
    ]


def test_a_pdf_file_of_the_web_opens_at_its_page() -> None:
    assert of(web("https://example.org/a.PDF", page=4)) == ["https://example.org/a.PDF#page=4"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["https://e.org/a", "https://e.org/a.pdf", "https://e.org/#x", ""]),
            st.sampled_from(["", "some words", "others"]),
            st.sampled_from([None, 1, 2]),
            st.sampled_from(["d1", "d2"]),
        ),
        max_size=12,
    )
)
def test_no_two_addresses_are_equal(made: list[tuple[str, str, int | None, str]]) -> None:
    sources = [
        replace(web(url, snippet, page), document_id=document)
        for url, snippet, page, document in made
    ]
    assert len(set(of(*sources))) == len(sources)


@given(st.text(max_size=40), st.text(min_size=1, max_size=40))
def test_a_list_can_be_taken_off_again(title: str, answer: str) -> None:
    source = replace(ONE, title=title)
    listed = source_list([source, source], [f"{BASE}/(1)", f"{BASE}/2"])
    assert listed.count("\n") == 3
    assert without_source_list(answer + listed) == answer
    assert without_source_list("") == "" == source_list([], [])


def test_markup_in_a_title_is_text() -> None:
    listed = source_list([replace(ONE, title="a](http://evil) <b> `x`")], [f"{BASE}/1"])
    assert listed == f"\n\n- \\[1\\] [a\\](http://evil) \\<b\\> \\`x\\`, p. 1]({BASE}/1)"
