"""Calls of tools that a model writes as text, as small ones do."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.models.reply import MAX_CALL_CHARS, WrittenCalls

TOOLS = frozenset({"search", "add"})
CALL = '{"name": "search", "arguments": {"q": "Ost"}}'


def read(
    reply: str, size: int = 5, tools: frozenset[str] = TOOLS
) -> tuple[str, list[tuple[str, str]]]:
    """The text and the calls of a reply that comes in pieces of this size."""
    written = WrittenCalls(tools)
    text = "".join(written.feed(reply[i : i + size]) for i in range(0, len(reply), size))
    rest, calls = written.end()
    return text + rest, [(call.name, call.arguments) for call in calls]


@pytest.mark.parametrize(
    "reply",
    [
        CALL,
        f"\n{CALL}\n",
        f"```json\n{CALL}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"[{CALL}]",
        '{"name": "search", "parameters": {"q": "Ost"}}',
        '{"name": "search", "arguments": "{\\"q\\": \\"Ost\\"}"}',
    ],
)
def test_a_reply_that_is_nothing_but_a_call_is_one(reply: str) -> None:
    text, [(name, arguments)] = read(reply)

    assert (text, name, json.loads(arguments)) == ("", "search", {"q": "Ost"})


def test_several_calls_below_each_other_are_all_made() -> None:
    reply = f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>"

    assert [name for name, _ in read(reply)[1]] == ["search", "search"]


@pytest.mark.parametrize(
    "reply",
    [
        f"I call it: {CALL}",
        f"{CALL} That is what I would call.",
        '{"name": "rm", "arguments": {}}',
        '{"answer": "1871"}',
        '{"name": ["search"]}',
        "[1] says 1871.",
        "{",
        "```python\nprint(1)\n```",
        "",
        "[" * 5000,
    ],
)
def test_any_other_reply_is_text(reply: str) -> None:
    assert read(reply) == (reply, [])


def test_a_reply_without_tools_is_never_held_back() -> None:
    assert WrittenCalls(frozenset()).feed(CALL) == CALL


def test_a_long_reply_is_not_held_back_to_its_end() -> None:
    assert WrittenCalls(TOOLS).feed("[" * MAX_CALL_CHARS)


@given(st.text(alphabet='{}[]"`:, nameserch<tool_call>\n', max_size=60), st.integers(1, 7))
def test_whatever_comes_no_text_is_lost(reply: str, size: int) -> None:
    text, calls = read(reply, size)

    assert calls or text == reply
