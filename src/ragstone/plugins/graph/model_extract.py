"""What a chat model says that passages name, and what of it is taken.

A model makes things up, and a passage may tell it to. So nothing is taken but names that stand in
the passage itself, and relations between two of these, of so many characters and so many of each;
how a relation is put in words is shown with its passage, and never is a source of an answer.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragstone.core.chunk import Chunk
from ragstone.language.code_blocks import fence_text
from ragstone.language.json_answer import json_answer
from ragstone.plugins.graph.entities import (
    ChunkReading,
    EntityMention,
    EntityRelation,
    ReadEntity,
    ReadRelation,
    entity_key,
    normalise_for_names,
    occurs_in_text,
)
from ragstone.plugins.graph.extract import UNREAD_KINDS

RECIPE = "1"
"""Raised when chunks are read otherwise, so that they are read anew."""

MAX_ENTITIES = 20
"""Entities of one passage, and as many relations."""

MAX_OTHER_NAMES = 4

LONGEST_NAME = 80

LONGEST_RELATION = 120
"""Characters of what is said of two entities."""

SHOWN = 4_000
"""Characters of a passage that the model reads."""

MAX_REPLY = 60_000
"""Characters of a reply that are looked at."""

_ONE = re.compile(r"\{\s*\"passage\"")
"""Where what is said of one passage begins."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken of a reply for one passage, and how many names and relations were not."""

    reading: ChunkReading
    left_out: int = 0


def is_read(chunk: Chunk) -> bool:
    """Tell whether a chunk is shown to the model."""
    return chunk.kind not in UNREAD_KINDS and any(letter.isalpha() for letter in chunk.text)


def format_chunk(chunk: Chunk) -> str:
    """Return what the model reads of a chunk: its headings and its text."""
    head = " > ".join(part for part in (chunk.title, *chunk.section) if part)
    return (f"{head}\n{chunk.text}" if head else chunk.text)[:SHOWN]


def cache_key(rules: str, chunk: Chunk) -> str:
    """The hash of what the model is told and reads of a chunk, however it is put together."""
    text = f"{rules}\0{format_chunk(chunk)}"
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def format_passages(chunks: Sequence[Chunk]) -> str:
    """Return passages as the model reads them in one call, numbered from 1."""
    return "\n".join(
        f"Passage {number}:\n{fence_text('passage', format_chunk(chunk))}"
        for number, chunk in enumerate(chunks, 1)
    )


def parse_reply(said: str, chunks: Sequence[Chunk], rules: str) -> list[Taken]:
    """Return what a reply says of each chunk that was shown. Of a reply that was cut off, what is
    whole is taken; where nothing is, the reading is broken."""
    found = _by_passage(said[:MAX_REPLY], len(chunks))
    return [
        _parse_entry(found.get(number), chunk, cache_key(rules, chunk))
        for number, chunk in enumerate(chunks, 1)
    ]


def merge_readings(
    chunk: Chunk, local: Sequence[EntityMention], reading: ChunkReading | None
) -> tuple[list[EntityMention], list[EntityRelation]]:
    """Return what a chunk names by the rules and by the model together, and how that relates."""
    # Questions and summaries have numbers of chunks too.
    if reading is None or reading.broken or not is_read(chunk):
        return list(local), []
    mentions = {mention.entity: mention for mention in local}
    for entity in reading.entities:
        names = {entity_key(name): name for name in (*entity.also[::-1], entity.name)}
        names.pop("", None)
        first = entity_key(entity.name)
        others = [key for key in names if key != first]
        for key, name in names.items():
            # Its other names are the same as it, and it the same as one of these.
            same = first if key != first else next(iter(others), "")
            before = mentions.get(key) or EntityMention(
                chunk.revision, chunk.chunk_index, key, name, "model"
            )
            mentions[key] = replace(before, same=before.same or same)
    relations = dict.fromkeys(
        EntityRelation(chunk.revision, chunk.chunk_index, here, there, relation.said)
        for relation in reading.relations
        if (here := entity_key(relation.entity))
        and (there := entity_key(relation.other))
        and here != there
    )
    return list(mentions.values()), list(relations)


def _by_passage(said: str, most: int) -> Mapping[int, Mapping[str, Any]]:
    """Return the objects of a reply by the numbers of their passages."""
    whole = json_answer(said)
    values = whole if isinstance(whole, list) else [whole]
    if isinstance(whole, dict):
        lists = [item for item in whole.values() if isinstance(item, list)]
        if "passage" not in whole and "entities" not in whole and lists:
            values = lists[0]
    found: dict[int, Mapping[str, Any]] = {}
    for value in [*values, *_parts(said, most)]:
        if not isinstance(value, dict) or not isinstance(value.get("entities"), list):
            continue
        number = _number(value.get("passage", 1 if most == 1 else None))
        if number is not None and 1 <= number <= most:
            found.setdefault(number, value)
    return found


def _parts(said: str, most: int) -> list[Any]:
    """Return what is whole of a reply that as a whole is not JSON."""
    found: list[Any] = []
    decoder = json.JSONDecoder()
    for match in list(_ONE.finditer(said))[: 2 * most]:
        try:
            found.append(decoder.raw_decode(said, match.start())[0])
        except (ValueError, RecursionError):
            continue
    return found


def _number(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and re.fullmatch(r"\d{1,3}", value.strip()):
        return int(value)
    return value if isinstance(value, int) else None


def _parse_entry(value: Mapping[str, Any] | None, chunk: Chunk, key: str) -> Taken:
    place = (chunk.revision, chunk.chunk_index, key)
    if value is None:
        return Taken(ChunkReading(*place, broken=True))
    text = normalise_for_names(format_chunk(chunk))
    entities, refused = _entities(value["entities"], text)
    named = {entity_key(name) for entity in entities for name in (entity.name, *entity.also)}
    relations, more = _relations(value.get("relations"), named)
    return Taken(ChunkReading(*place, tuple(entities), tuple(relations)), refused + more)


def _entities(values: Sequence[Any], text: str) -> tuple[list[ReadEntity], int]:
    """Return the entities whose names stand in the text, and how many do not or are too many."""
    found: dict[str, ReadEntity] = {}
    refused = max(0, len(values) - 5 * MAX_ENTITIES)
    for value in values[: 5 * MAX_ENTITIES]:
        value = {"name": value} if isinstance(value, str) else value
        name = _name(value.get("name"), text) if isinstance(value, dict) else ""
        if not name or len(found) >= MAX_ENTITIES:
            refused += 1
            continue
        also = value.get("also")
        others = [_name(item, text) for item in also[:20]] if isinstance(also, list) else []
        key = entity_key(name)
        names = {entity_key(item): item for item in others if item and entity_key(item) != key}
        found.setdefault(key, ReadEntity(name, tuple(names.values())[:MAX_OTHER_NAMES]))
    return list(found.values()), refused


def _relations(values: Any, named: set[str]) -> tuple[list[ReadRelation], int]:
    """Return the relations between what was taken, and how many are not such or are too many."""
    if not isinstance(values, list):
        return [], 0
    found: list[ReadRelation] = []
    refused = max(0, len(values) - 5 * MAX_ENTITIES)
    for value in values[: 5 * MAX_ENTITIES]:
        ends = value if isinstance(value, dict) else {}
        here, there, said = (_line(ends.get(name)) for name in ("from", "to", "relation"))
        known = {entity_key(here), entity_key(there)} <= named
        if not (here and there and said and known) or len(found) >= MAX_ENTITIES:
            refused += 1
            continue
        found.append(ReadRelation(here, there, said[:LONGEST_RELATION]))
    return list(dict.fromkeys(found)), refused


def _name(value: Any, text: str) -> str:
    """Return a name that stands in the text, else nothing."""
    name = _line(value)
    fits = 2 <= len(name) <= LONGEST_NAME and entity_key(name) and occurs_in_text(name, text)
    return name if fits else ""


def _line(value: Any) -> str:
    """Return a text on one line, else nothing."""
    if not isinstance(value, str):
        return ""
    return " ".join(_CONTROL.sub(" ", value[:1_000]).split())
