"""Tells who names a file that it could not be read, instead of answering from another one."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import ClassVar

from pydantic import Field

from ragstone.core.answer import GeneratedAnswer
from ragstone.core.events import Note, Token
from ragstone.core.records import Document
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.language import detect, say_unread
from ragstone.ports import Adapters, find_collection
from ragstone.retrieve.subject import compile_file_name

_ENDING = re.compile(r"(?<=[^\W_])\.[^\W_]{1,10}(?![\w-])")
"""The ending of what may be the name of a file."""

MAX_ENDINGS = 10
"""Endings of one question that are looked up."""


class TellUnread(Stage):
    """Answers a question that names a file which could not be read with the reason for that.

    Only files are told of that the asker may read. Where the question names a document too, or a
    passage says the name, it is answered, and the reason is a note beside the answer.
    """

    name: ClassVar[str] = "tell_unread"
    needs: ClassVar[frozenset[str]] = frozenset({"hits"})
    gives: ClassVar[frozenset[str]] = frozenset({"hits", "answer", "notes", "unread"})
    fails: ClassVar = "open"

    holds: bool = Field(False, description="Whether the text waits with the rest of the answer.")
    answers: bool = Field(True, description="Whether the reason is the answer, or else a note.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        asked = turn.ask.question
        endings = list(dict.fromkeys(_ENDING.findall(asked)))[:MAX_ENDINGS]
        if not endings:
            return Step(turn, "skipped", "no file is named")
        collection = turn.collection or await find_collection(adapters.catalog, turn.ask)
        if collection is None or (turn.answer and turn.answer.text):
            return Step(turn, "skipped", "it is answered already" if collection else "")
        unread = await adapters.catalog.list_unread(
            collection.tenant, collection.id, turn.ask.principal.names, endings
        )
        named = {_file_name(document): document for document in unread if _names(asked, document)}
        if not named:
            return Step(turn, "skipped", "no file that could not be read is named")
        language = detect(asked)
        said = "\n".join(_explain(file, named[file], language) for file in sorted(named))
        if self.answers and not turn.subqueries and not _is_asked_of_others(turn, sorted(named)):
            if not self.holds:
                await emit(Token(said))
            answer = GeneratedAnswer(said, finish="refused", held=self.holds)
            return Step(replace(turn, hits=(), answer=answer, unread=said), "refused", said)
        if said not in turn.notes:
            await emit(Note(self.name, said))
            turn = replace(turn, notes=(*turn.notes, said))
        return Step(turn, "told beside the answer", said)


def _file_name(document: Document) -> str:
    return PurePosixPath(document.path).name


def _names(question: str, document: Document) -> bool:
    return bool(compile_file_name(_file_name(document)).search(question))


def _explain(file: str, document: Document, language: str) -> str:
    """Name a file and why it could not be read, whose reason mostly begins with the name."""
    reason = document.error
    if reason.startswith(f"{file} "):
        reason = f"it{reason.removeprefix(file)}"
    return say_unread(file, reason, language)


def _is_asked_of_others(turn: Turn, files: Sequence[str]) -> bool:
    """Tell whether passages say the names of the files, or are of documents that are named too."""
    patterns = [compile_file_name(file) for file in files]
    return any(
        any(pattern.search(hit.chunk.text) for pattern in patterns)
        or compile_file_name(PurePosixPath(hit.chunk.path).name).search(turn.ask.question)
        for hit in turn.hits
    )
