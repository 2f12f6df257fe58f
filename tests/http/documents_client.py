"""Clients of the documents' streams, written from their texts alone: no library for events, for
HTTP or of Ragstone stands between them and the bytes.

Each document says less than the standard for server-sent events: lines that begin with `data: `,
one JSON object each, an empty line between two. So that is all that these clients read, and they
check each event against what its document prints.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Event = dict[str, Any]
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SECONDS = 60


class NotTheDocument(Exception):
    """What came is not what the document prints."""


@dataclass(frozen=True)
class Heard:
    """A response: its status, its headers by small names, and its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def posted(port: int, path: str, body: Any) -> Heard:
    """The response to a POST of JSON, read until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    sent = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(sent)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + sent)
    async with asyncio.timeout(SECONDS):
        whole = await reader.read(-1)
    writer.close()
    await writer.wait_closed()
    top, _, rest = whole.partition(b"\r\n\r\n")
    first, *lines = top.decode("ascii").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    chunked = headers.get("transfer-encoding") == "chunked"
    return Heard(int(first.split()[1]), headers, unchunked(rest) if chunked else rest)


def unchunked(data: bytes) -> bytes:
    """The body of a response in chunks, of RFC 9112."""
    found = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        found, data = found + data[:length], data[length + 2 :]
        if not length:
            break
    return found


def events(heard: Heard, ends: str = "") -> list[Event]:
    """The objects of a stream; `ends` is what stands alone in its last line."""
    expect(heard.status == 200, f"status {heard.status}")
    expect(heard.headers["content-type"].startswith("text/event-stream"), "the content type")
    text = heard.body.decode("utf-8")
    expect(text.endswith("\n\n"), "the last event has no empty line behind it")
    lines = text.removesuffix("\n\n").split("\n\n")
    for line in lines:
        expect(line.startswith("data: ") and "\n" not in line, f"the line {line!r}")
    said = [line.removeprefix("data: ") for line in lines]
    if ends:
        expect(said[-1:] == [ends], f"the end is {said[-1:]}")
        said = said[:-1]
    return [json.loads(item) for item in said]


def expect(true: bool, what: str) -> None:
    if not true:
        raise NotTheDocument(what)


def has(event: Event, **kinds: Any) -> None:
    """Each of these is there and of this kind."""
    for name, kind in kinds.items():
        expect(isinstance(event.get(name), kind), f"{name} of {event}")


def in_order(found: list[Event], pattern: str) -> None:
    """The types of the events, by a regular expression in which each ends with a space."""
    types = "".join(f"{event['type']} " for event in found)
    expect(re.fullmatch(pattern, types) is not None, f"the order {types}")


def chat_core(heard: Heard) -> list[Event]:
    """Sections 6.1 and 6.2, and 11.2 where it ends in an error."""
    found = events(heard)
    in_order(found, "((step|debug|think) )*((token|debug|think) )*(done|error) ")
    for event in found:
        match event["type"]:
            case "step" | "debug" | "think":
                has(event, id=str, content=str)
                expect(ID.fullmatch(event["id"]) is not None, f"the id of {event}")
            case "token":
                expect(set(event) == {"type", "content"}, f"{event}")
                has(event, content=str)
    last = found[-1]
    has(last, final_response=str)
    said = "".join(event["content"] for event in found if event["type"] == "token")
    if last["type"] == "done":
        has(last, search_type=str, references=list)
        expect(said == last["final_response"], "the tokens are not the final response")
    else:
        has(last, content=str, detail=str)
        expect(last["content"].startswith("An error occurred: "), last["content"])
    if last["usage"] is not None:
        has(last["usage"], prompt_tokens=int, completion_tokens=int, total_tokens=int)
    return found


def generate_stream(heard: Heard) -> list[Event]:
    """The events of /api/v1/rag/generate/stream."""
    found = events(heard)
    in_order(found, "(context (chunk )*)?(citations done|error) ")
    for event in found:
        match event["type"]:
            case "context":
                has(event, chunks_count=int)
            case "chunk":
                has(event, content=str)
            case "citations":
                has(event, citations=list)
                for item in event["citations"]:
                    has(item, source_id=int, chunk_id=str, content=str, score=float)
    return found


def query_stream(heard: Heard) -> list[Event]:
    """The events of /api/v1/rag/query-stream, and `[DONE]`."""
    found = events(heard, ends="[DONE]")
    in_order(
        found,
        "(query_rewritten (documents_retrieved (generation_start (token )*)?)?)?"
        "(generation_complete|error) ",
    )
    for event in found:
        match event["type"]:
            case "query_rewritten" | "token":
                has(event, content=str)
            case "documents_retrieved":
                has(event, count=int)
            case "generation_complete":
                has(event, sources=list, citations=list)
                for item in event["sources"]:
                    has(item, id=str, title=str, content=str, score=float, citation_id=str)
                for item in event["citations"]:
                    has(item, citation_num=int, source_id=str, confidence=float)
    return found


def chat_stream(heard: Heard) -> list[Event]:
    """The events of V5's /chat/{chat_id}/stream."""
    found = events(heard)
    in_order(found, "(token )*(sources done|error) ")
    for event in found:
        match event["type"]:
            case "token":
                has(event, content=str)
            case "sources":
                has(event, sources=list)
            case "done":
                has(event, is_grounded=bool)
    return found


Reader = Callable[[Heard], list[Event]]
STREAMS: Mapping[str, Reader] = {
    "/v2/rag/query": chat_core,
    "/v2/gpt/query": chat_core,
    "/v2/pa/query": chat_core,
    "/v2/vision/query": chat_core,
    "/v2/voc/query": chat_core,
    "/api/v1/rag/generate": generate_stream,
    "/api/v1/rag/generate/stream": generate_stream,
    "/api/v1/rag/query-stream": query_stream,
    "/chat/c1/stream": chat_stream,
}
"""What reads each address that streams."""
