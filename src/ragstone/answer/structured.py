"""Says the answer as JSON: what programs read instead of people."""

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field

from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.errors import ModelUnavailable, NoChatModel
from ragstone.core.events import Token
from ragstone.core.turn import JsonFormat, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.json_answer import find_json, validation_error
from ragstone.language.markers import strip_markers
from ragstone.ports import Adapters, Answerer, Said

TRIES = 2

SOURCES = '- Give the numbers of the sources that you used in a field "sources", like [1, 3].'
SCHEMA = "The object must be valid by this JSON schema:"
AGAIN = "The object that you wrote before was not valid:"


class Structured(Stage):
    """Asks the chat model for JSON, and once more if what comes is none, or not of the wanted
    schema. Nothing else can write it, so without a chat model this is an error.

    The object leaves as the model wrote it, without what stands around it."""

    name: ClassVar[str] = "structured"
    timeout_setting: ClassVar[str] = "LLM__TIMEOUT"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "passages", "instructions"})
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})

    holds: bool = Field(False, description="Whether the text waits until it is checked.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        if turn.answer and turn.answer.text:
            return Step(turn, "skipped", "it is answered already")
        chat, wanted = adapters.chat, turn.ask.json or JsonFormat()
        if not isinstance(chat, Answerer):
            raise NoChatModel("An answer in JSON")
        wrong, used, is_json = "", tuple[int, ...](), False
        for _ in range(TRIES):
            said, turn = await self._read_reply(
                chat, turn, _rules(turn.instructions.text, wanted, wrong)
            )
            if said.finish == "refused" or said.calls:
                break
            value, text = await asyncio.to_thread(find_json, said.text)
            wrong = await asyncio.to_thread(_wrong, value, wanted)
            if not wrong:
                if wanted.schema is None:
                    text, used = _with_known_sources(value, text, turn)
                said, is_json = replace(said, text=text), True
                break
        else:
            raise ModelUnavailable(f"The chat model wrote no JSON of the wanted form: {wrong}")
        if not is_json:
            said = replace(said, text=strip_markers(said.text))
        if said.text and not self.holds:
            await emit(Token(said.text))
        answer = GeneratedAnswer(
            text=said.text,
            finish=said.finish or "stop",
            model=said.model,
            used=used,
            calls=said.calls,
            held=self.holds,
            is_json=is_json,
        )
        return Step(replace(turn, answer=answer), answer.finish, wrong)

    async def _read_reply(self, chat: Answerer, turn: Turn, rules: str) -> tuple[Said, Turn]:
        """Return one whole reply, and the turn with what it took."""
        ask = replace(turn.ask, question=turn.question)
        told = replace(turn.instructions, text=rules, alone=True)
        whole, usage = Said(model=chat.name), Usage()
        async with aclosing(chat.answer(ask, turn.passages, told)) as stream:
            async for said in stream:
                usage += said.usage
                whole = replace(
                    whole,
                    text=said.text if said.restarts else whole.text + said.text,
                    finish=said.finish or whole.finish,
                    model=said.model or whole.model,
                    calls=said.calls or whole.calls,
                )
        return whole, replace(turn, usage=turn.usage + usage)


def _rules(rules: str, wanted: JsonFormat, wrong: str) -> str:
    parts = [rules]
    if wanted.schema is None:
        parts = [f"{rules}\n{SOURCES}"]
    else:
        parts.append(f"{SCHEMA}\n{json.dumps(dict(wanted.schema), ensure_ascii=False)}")
    if wrong:
        parts.append(f"{AGAIN} {wrong}")
    return "\n\n".join(parts)


def _with_known_sources(
    value: dict[str, Any], text: str, turn: Turn
) -> tuple[str, tuple[int, ...]]:
    """Return the object's text whose field of sources names none that there is not, and those that
    it names."""
    told = value.get("sources")
    if not isinstance(told, list):
        return text, ()
    known = {passage.number for passage in turn.passages}
    used = tuple(n for n in told if type(n) is int and n in known)
    if len(used) == len(told):
        return text, used
    changed = {**value, "sources": list(used)}
    return json.dumps(changed, ensure_ascii=text.isascii()), used


def _wrong(value: Any, wanted: JsonFormat) -> str:
    """Return what is wrong with it, in a sentence; nothing where nothing is."""
    if not isinstance(value, dict):
        return "It holds no JSON object."
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return "It holds a number that JSON does not have, or is nested too deeply."
    return validation_error(value, wanted.schema) if wanted.schema is not None else ""
