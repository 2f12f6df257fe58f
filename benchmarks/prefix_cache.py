"""What a chat model's server saves by keeping the beginning of a prompt: time to the first token
and tokens that it reads, question by question of one conversation.

A real llama.cpp server with SmolLM2-135M, one question at a time. Two layouts are compared: the
default, in which the sources follow the rules, and RAG__PROMPT_LAYOUT=last, in which they stand
with the question, behind the conversation. BENCH_TURNS questions (4), each with passages of its own
and, as intents have it, another form of the answer. Besides: which share of a follow-up's prompt
begins as the one before did, and what is left to read where passages are shortened too
(RAG__COMPRESSION). BENCH_TURNS=0 measures these shares alone.
"""

import json
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import httpx2

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.answer.assemble import SOURCES, compress_texts
from ragstone.core.answer import Instructions, Layout
from ragstone.core.chunk import Chunk
from ragstone.core.turn import Hit, Passage
from ragstone.language.language import ENGLISH
from ragstone.language.templates import ANSWER, build_instructions, load_shipped
from ragstone.language.tokens import count
from ragstone.models.prompt import compose
from ragstone.plugins.evaluation import dataset
from tests.llama import llama_server

TURNS = int(os.environ.get("BENCH_TURNS", "4"))
PASSAGES = 3
RATIOS = (1.0, 0.5, 0.3)
"""To which share of its tokens each passage is shortened."""

FORMS = ("form.direct", "form.list", "form.direct", "form.steps")
"""How the questions of a conversation are answered, in turn."""

KEY = "prefix-cache"
REPLY_TOKENS = 24
SECONDS = 300.0
LONG = 4
"""Messages that a conversation has behind it at least."""

Messages = list[dict[str, str]]


@dataclass(frozen=True)
class Measured:
    """One question: seconds to the first token, the prompt's tokens that were read for it, and the
    share of the prompt's characters that is the beginning of the one before."""

    seconds: float
    tokens: int
    same: float = 0.0


def run() -> Iterator[Row]:
    yield from _shares()
    if not TURNS:
        return
    # One server for all: follow-ups are read over what the question before them has left. It keeps
    # prompts of long before too, so each conversation is over passages of its own.
    number = 0
    with llama_server(KEY) as url:
        for sources_last in (False, True):
            side = "behind the conversation" if sources_last else "before it (default)"
            where = f"sources {side}"
            for caches in (False, True):
                found = _conversation(url, list(_questions(number)), sources_last, caches)
                number += 1
                # The first question of a conversation has nothing that the server could know.
                later = found[1:]
                kept = "with" if caches else "without"
                yield Row(
                    f"To the first token of a follow-up, {where}, {kept} the server's prefix cache",
                    1000 * statistics.median(item.seconds for item in later),
                    "ms",
                    note=f"{statistics.mean(item.tokens for item in later):,.0f} tokens read",
                    detail=True,
                )
            share = statistics.mean(item.same for item in later)
            yield Row(
                f"Of a follow-up's prompt begins as the one before, {where}", share, detail=True
            )


def _shares() -> Iterator[Row]:
    """Over the real conversations of mtrag_un, with their own replies: which share of a follow-up's
    tokens a server knows from the question before, and how many are left to be read, beside those
    of the default layout with whole passages."""
    folder = eval_data() / "mtrag_un"
    texts = [item.text for item in dataset.corpus(folder)]
    talks = [
        question for question in dataset.questions(folder, "dev") if len(question.history) >= LONG
    ]
    most = 0
    for ratio in RATIOS:
        for sources_last in (False, True):
            known, whole = 0, 0
            for number, talk in enumerate(talks):
                said = [(item.role, item.text) for item in talk.history]
                prompts = [
                    _prompt(said[:at], text, texts, number + at, sources_last, ratio)
                    for at, text in ((len(said) - 2, said[-2][1]), (len(said), talk.text))
                ]
                same = prompts[1][: _same(*prompts)]
                known, whole = known + count(same), whole + count(prompts[1])
            most = most or whole - known
            side = "behind the conversation" if sources_last else "before it (default)"
            of = f"sources {side}" + (f", passages to {ratio:g}" if ratio < 1 else "")
            yield Row(
                f"Of the tokens of a follow-up's prompt, known from the one before, {of}",
                known / whole,
                note=f"{len(talks)} conversations of mtrag_un, {whole / len(talks):,.0f} tokens",
                detail=True,
            )
            yield Row(
                f"Tokens of a follow-up's prompt that a server has to read, {of}",
                (whole - known) / most,
                note="of those with whole passages before the conversation",
                detail=True,
            )


def _prompt(
    said: Sequence[tuple[str, str]],
    question: str,
    texts: Sequence[str],
    turn: int,
    sources_last: bool,
    ratio: float,
) -> str:
    """Return what is sent for a question, with passages of its own."""
    places = range(turn * PASSAGES, (turn + 1) * PASSAGES)
    short = compress_texts(question, [texts[at % len(texts)] for at in places], ratio)
    passages = [_passage(number, text) for number, text in enumerate(short, 1)]
    first, last = _messages(passages, question, FORMS[turn // 2 % len(FORMS)], sources_last)
    return "\n".join((first, *(f"{role}: {text}" for role, text in said), f"user: {last}"))


def _questions(number: int) -> Iterator[tuple[str, Sequence[Passage]]]:
    """The questions of a conversation, each with the passages that it would be answered from."""
    corpus = [item.text for item in dataset.corpus(eval_data() / "squad2_dev")]
    questions = [item.text for item in dataset.questions(eval_data() / "squad2_dev", "dev", TURNS)]
    for turn, question in enumerate(questions, number * TURNS):
        texts = corpus[turn * PASSAGES : (turn + 1) * PASSAGES]
        yield question, [_passage(number, text) for number, text in enumerate(texts, 1)]


def _passage(number: int, text: str) -> Passage:
    chunk = Chunk(
        f"c{number}", f"d{number}", 1, 0, text, f"Document {number}", f"/{number}.md", "default",
        "default", 0, len(text),
    )  # fmt: skip
    return Passage(number, text, Hit(chunk, 1.0))


def _conversation(
    url: str, asked: Sequence[tuple[str, Sequence[Passage]]], sources_last: bool, caches: bool
) -> list[Measured]:
    said: Messages = []
    found = []
    before = ""
    with httpx2.Client(base_url=url, timeout=SECONDS) as http:
        for turn, (question, passages) in enumerate(asked):
            form = FORMS[turn % len(FORMS)]
            first, last = _messages(passages, question, form, sources_last)
            messages = [
                {"role": "system", "content": first}, *said, {"role": "user", "content": last}
            ]  # fmt: skip
            measured, reply = _ask(http, messages, caches)
            whole = json.dumps(messages)
            same = _same(before, whole) / len(whole)
            before = whole
            found.append(replace(measured, same=same))
            said += [
                {"role": "user", "content": question}, {"role": "assistant", "content": reply}
            ]  # fmt: skip
    return found


def _same(one: str, other: str) -> int:
    """Tell how many characters two texts have in common at their beginning."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _messages(
    passages: Sequence[Passage], question: str, form: str, sources_last: bool
) -> tuple[str, str]:
    """Return the system's text and the user's message of a question of this form."""
    rules = build_instructions(
        lambda name: load_shipped(name) or "",
        [ANSWER],
        no_answer=ENGLISH,
        language="Answer in English.",
        form=load_shipped(form) or "",
        mode=load_shipped("mode.simple") or "",
    )
    layout: Layout = "last" if sources_last else "sources"
    return compose(passages, question, Instructions(rules, opening=SOURCES, layout=layout))


def _ask(http: httpx2.Client, messages: Messages, caches: bool) -> tuple[Measured, str]:
    body = {
        "messages": messages, "stream": True, "max_tokens": REPLY_TOKENS, "temperature": 0.0,
        "cache_prompt": caches, "id_slot": 0, "timings_per_token": True,
    }  # fmt: skip
    # The server ends a connection on which it has streamed for long.
    headers = {"authorization": f"Bearer {KEY}", "connection": "close"}
    began, first, tokens, text = time.perf_counter(), 0.0, 0, ""
    with http.stream("POST", "/v1/chat/completions", json=body, headers=headers) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if not line.startswith("data: {"):
                continue
            part = json.loads(line.removeprefix("data: "))
            tokens = int(part.get("timings", {}).get("prompt_n", tokens))
            delta = _delta(part)
            if delta and not first:
                first = time.perf_counter() - began
            text += delta
    return Measured(first, tokens), text


def _delta(part: Mapping[str, object]) -> str:
    choices = part.get("choices")
    if not isinstance(choices, list) or not choices:
        return ""
    return str(choices[0].get("delta", {}).get("content") or "")
