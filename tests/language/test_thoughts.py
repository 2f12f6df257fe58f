"""Thoughts in a reply's text, however the reply was cut into pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.thoughts import Thoughts, strip_thoughts


def told_apart(pieces: list[str]) -> tuple[str, str]:
    """Text and thoughts."""
    thoughts = Thoughts()
    found = [item for piece in pieces for item in thoughts.feed(piece)] + thoughts.end()
    return (
        "".join(item.text for item in found if not item.thought),
        "".join(item.text for item in found if item.thought),
    )


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places} | {len(text)})
    starts = [0, *ends[:-1]]
    return [text[a:b] for a, b in zip(starts, ends, strict=True)]


PLAIN = st.text(alphabet="ab <>/`thinkéñ漢字\n", max_size=30).filter(lambda t: "think>" not in t)
TOKENS = st.sampled_from(["<think>", "</think>", "<thinking>", "</thinking>", "`", "a", " b", "<"])


@given(st.lists(st.tuples(PLAIN, PLAIN), max_size=4), PLAIN, st.lists(st.integers(0, 500)))
def test_given_any_cuts_then_thoughts_and_text_are_told_apart(
    parts: list[tuple[str, str]], last: str, places: list[int]
) -> None:
    reply, text = "", ""
    for said, thought in parts:
        said = said.rstrip("`<")
        reply += f"{said}<think>{thought}</think>"
        text += said
    heard = told_apart(cut(reply + last, places))
    assert heard == (f"{text}{last}".lstrip(), "".join(thought for _, thought in parts))


@given(st.lists(TOKENS | st.text(max_size=5), max_size=12), st.lists(st.integers(0, 200)))
def test_given_any_text_then_the_cuts_make_no_difference(
    tokens: list[str], places: list[int]
) -> None:
    reply = "".join(tokens)
    assert told_apart(cut(reply, places)) == told_apart([reply])


@given(st.text(max_size=200), st.lists(st.integers(0, 200)))
def test_given_text_without_tags_then_nothing_but_leading_spaces_is_lost(
    text: str, places: list[int]
) -> None:
    if "think>" not in text:
        assert told_apart(cut(text, places)) == (text.lstrip(), "")


@pytest.mark.parametrize(
    ("pieces", "text", "thought"),
    [
        (["<think>", "Hm.", "</think>\n\nYes."], "Yes.", "Hm."),
        (["<thi", "nk>Hm.</th", "ink>Yes."], "Yes.", "Hm."),
        (["<thinking>Hm.</think></thinking>Yes."], "Yes.", "Hm.</think>"),
        (["The tag `<think>", "` opens."], "The tag `<think>` opens.", ""),
        (["Use <think> for it."], "Use <think> for it.", " for it."),
        (["<think>Never ends"], "", "Never ends"),
        (["1 < 2"], "1 < 2", ""),
        (["ends with <thi"], "ends with <thi", ""),
        (["Hm.</th", "ink> Yes."], "Hm. Yes.", ""),
        (["</thinking>\n", "\nYes."], "Yes.", ""),
        (["The tag `</think>` closes."], "The tag `</think>` closes.", ""),
    ],
)
def test_given_a_reply_then_its_text_and_its_thoughts(
    pieces: list[str], text: str, thought: str
) -> None:
    assert told_apart(pieces) == (text, thought)


def test_given_a_whole_reply_whose_template_opened_the_thought_then_the_text_follows_it() -> None:
    assert strip_thoughts("Hm, 1871.</think>\n\nIn 1871.") == "In 1871."
    assert strip_thoughts("<think>Hm.</think>In 1871.") == "In 1871."
    assert strip_thoughts("<think>Hm.</think>So.</thinking> In 1871.") == "In 1871."
