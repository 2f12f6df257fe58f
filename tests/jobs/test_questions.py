"""Which questions are the same job, and what their answers look like."""

import json
from dataclasses import replace

import pytest

from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.chunk import Chunk
from ragstone.core.filters import AnyOf
from ragstone.core.turn import Ask, Hit, Message, Passage, Principal, Turn
from ragstone.jobs.questions import format_request, format_result, question_id

EVA = Principal("acme", "eva", ("staff", "hr"))
ASK = Ask("When are you open?", EVA, "site", where=AnyOf("path", ("/hours",)))


def test_an_id_is_the_prefix_and_a_hash() -> None:
    id = question_id(ASK)
    assert id.startswith("ragask_")
    assert len(id) == len("ragask_") + 32
    assert int(id.removeprefix("ragask_"), 16)


@pytest.mark.parametrize(
    "same",
    [
        replace(ASK, question="  When are\nyou open? "),
        replace(ASK, id="another request"),
        replace(ASK, principal=replace(EVA, groups=("hr", "staff", "hr"))),
    ],
)
def test_what_changes_nothing_is_the_same_job(same: Ask) -> None:
    assert question_id(same) == question_id(ASK)


@pytest.mark.parametrize(
    "other",
    [
        replace(ASK, question="When are you closed?"),
        replace(ASK, principal=replace(EVA, user="max")),
        replace(ASK, principal=replace(EVA, tenant="other")),
        replace(ASK, principal=replace(EVA, groups=("staff",))),
        replace(ASK, collection="intranet"),
        replace(ASK, where=AnyOf("path", ("/rooms",))),
        replace(ASK, where=None),
        replace(ASK, level="maximum"),
        replace(ASK, history=(Message("user", "Hi"),)),
    ],
)
def test_another_context_path_or_option_is_another_job(other: Ask) -> None:
    assert question_id(other) != question_id(ASK)


def test_no_question_breaks_an_id_or_a_request() -> None:
    for text in ("\ud800", "\0", "🙂" * 10_000, '"}{'):
        ask = replace(ASK, question=text)
        assert question_id(ask).startswith("ragask_")
        json.dumps(format_request(ask))


def test_a_result_shows_what_a_site_needs_of_each_source() -> None:
    chunk = Chunk(
        chunk_id="c1",
        document_id="d1",
        version=1,
        chunk_index=3,
        text="We are open from nine to five.",
        title="Opening hours",
        path="/hours",
        tenant="acme",
        collection="site",
        start=0,
        end=30,
        metadata={"portal_type": "Document", "lang": "en"},
    )
    turn = Turn(
        ASK,
        passages=(Passage(1, chunk.text, Hit(chunk, 0.9)),),
        answer=GeneratedAnswer("From nine to five. [1]", (), "stop", "model", 0.8),
        usage=Usage(1, 2, 1, None),
    )
    result = format_result(turn)
    assert (result["question"], result["answer"]) == (ASK.question, "From nine to five. [1]")
    assert (result["finish"], result["model"]) == ("stop", "model")
    (source,) = result["sources"]
    expected = {
        "title": "Opening hours",
        "path": "/hours",
        "portal_type": "Document",
        "score": 0.9,
        "chunk_index": 3,
        "snippet": chunk.text,
        "metadata": {"portal_type": "Document", "lang": "en"},
    }
    assert expected.items() <= source.items()
    json.dumps(result)
