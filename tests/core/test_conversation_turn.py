"""The conversation block of the chat-core document, and what is not a block."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.conversation import (
    ConversationTurn,
    TurnMessage,
    TurnResult,
    conversation_key,
    dump_turn,
    entry,
    iso,
    load_turn,
    seconds,
    title,
)
from ragstone.core.errors import InvalidBlock, InvalidRoom
from ragstone.core.turn import Ask, Principal, Turn

TEXT = """{
  "version": "v3", "status": "done", "block_classes": ["Law"], "search_type": "pa",
  "conversations": [
    {"role": "user", "content": "Q", "tool_calls": [], "tool_call_id": "", "name": "",
     "created_at": "2026-01-02T03:04:05+00:00"},
    {"role": "assistant", "content": null, "tool_calls": [{"id": "c"}], "created_at": null},
    {"role": "tool", "content": "found", "tool_call_id": "c", "name": "search"},
    {"role": "assistant", "content": "A"}
  ],
  "room_id": "r", "chat_id": "c", "user_id": "u", "is_tool_block": true, "is_error": false,
  "result": {
    "type": "done", "final_response": "A", "references": [{"title": "T"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    "search_decision": {"rewritten_query": ["Q else"]}
  }
}"""


def test_given_a_block_as_text_then_every_field_is_read_and_written_as_it_was() -> None:
    block = load_turn(TEXT)
    assert (block.status, block.search_type, block.block_classes) == ("done", "pa", ("Law",))
    assert block.conversations[1] == TurnMessage("assistant", "", ({"id": "c"},))
    assert block.result.search_decision.rewritten_query == ("Q else",)
    written, given = dump_turn(block), json.loads(TEXT)
    assert list(written) == list(given)
    assert list(written["result"]) == list(given["result"])
    assert written["conversations"][0] == given["conversations"][0]
    assert load_turn(json.dumps(written)) == block


def test_given_tools_when_pruned_then_question_and_answer_stay() -> None:
    assert [message.content for message in load_turn(TEXT).without_tool_calls().conversations] == [
        "Q",
        "A",
    ]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("{", "as JSON"),
        (b"\xff", "as JSON"),
        ("[" * 100_000, "as JSON"),
        ([], "the block"),
        ({"version": "v2"}, "version"),
        ({"status": "gone"}, "status"),
        ({"conversations": [{"role": "robot"}]}, "conversations.0.role"),
        ({"conversations": [{"role": "user", "created_at": "yesterday"}]}, "created_at"),
        ({"result": {"usage": {"total_tokens": "many"}}}, "result.usage.total_tokens"),
    ],
)
def test_given_no_block_then_the_error_says_where(data: Any, says: str) -> None:
    with pytest.raises(InvalidBlock, match="Not a valid conversation block") as raised:
        load_turn(data)
    assert says in raised.value.message


@given(st.recursive(st.none() | st.text() | st.integers(), lambda v: st.lists(v) | st.dictionaries(
    st.sampled_from(["version", "conversations", "result", "role", "tool_calls"]), v)))  # fmt: skip
def test_given_anything_then_it_is_a_block_or_an_error(data: Any) -> None:
    try:
        block = load_turn(data)
    except InvalidBlock:
        return
    assert load_turn(dump_turn(block)) == block


def test_given_a_turn_that_was_cut_off_or_failed_then_what_was_said_is_kept() -> None:
    ask = Ask("Why?", room="r", id="c1", user_id="u", search_type="gpt", classes=("Law",))
    turn = Turn(ask, "Why?", usage=Usage(3, 4, 1))
    cases = {
        "stop": ("done", False, "done"),
        "refused": ("done", False, "done"),
        "cancelled": ("idle", False, "done"),
        "error": ("error", True, "error"),
    }
    for finish, (status, failed, kind) in cases.items():
        block = entry(Turn(ask, "Why?", answer=GeneratedAnswer("Becau", finish=finish)), 9.0).block  # type: ignore[arg-type]
        assert (block.status, block.is_error, block.result.type) == (status, failed, kind)
        assert block.result.final_response == "Becau"
    silent = entry(turn, 9.0).block
    assert silent.is_error
    assert [message.role for message in silent.conversations] == ["user"]
    assert (silent.result.usage.total_tokens, silent.block_classes) == (7, ("Law",))
    assert (silent.room_id, silent.chat_id, silent.user_id) == ("r", "c1", "u")


def test_given_nothing_then_a_block_is_empty_but_whole() -> None:
    assert load_turn({}) == ConversationTurn(result=TurnResult())


@pytest.mark.parametrize(
    "name", ["", " ", "x" * 10_000, "a\0b", "a\nb", "\ud800", "\x7f", "a\u2028"]
)
def test_given_a_name_that_no_store_can_keep_then_it_is_refused(name: str) -> None:
    with pytest.raises(InvalidRoom):
        conversation_key(Principal(), name)
    if name.strip():
        with pytest.raises(InvalidRoom):
            conversation_key(Principal(), "r", name)


@given(st.text(st.characters(codec=None)))
def test_given_any_text_then_a_title_is_one_short_line(text: str) -> None:
    made = title(text)
    assert len(made) <= 80
    made.encode()
    assert "\n" not in made


def test_times_come_back() -> None:
    assert iso(0.25) == "1970-01-01T00:00:00.250+00:00"
    assert seconds(iso(1234567.5)) == 1234567.5
