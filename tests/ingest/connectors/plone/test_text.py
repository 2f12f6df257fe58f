"""What a Plone object says, and who may read it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.chunk import EVERYONE
from ragstone.ingest.parse import parse
from ragstone.plugins.plone.names import (
    CONNECTOR,
    filter_path,
    names,
    reader_names,
    site_path,
    stated_readers,
)
from ragstone.plugins.plone.text import page
from ragstone.settings import IngestSettings

SITE = "https://x.org/Plone"
ANY = f"group:{CONNECTOR}"


def text_of(item: dict[str, Any], folder: Path) -> str:
    file = folder / "page.html"
    file.write_text(page(item), encoding="utf-8")
    return "\n".join(block.text for block in parse(file, IngestSettings()).blocks)


def test_given_slate_blocks_then_their_text_in_the_order_of_the_layout(tmp_path: Path) -> None:
    item = {
        "title": "Opening <hours>",
        "description": "When we are there & when not.",
        "blocks": {
            "b": {"@type": "slate", "plaintext": "x", "value": [
                {"type": "ul", "children": [
                    {"type": "li", "children": [{"text": "Monday "}, {"type": "strong",
                     "children": [{"text": "9 to 5"}]}]}]}]},
            "a": {"@type": "slate", "value": [{"type": "h2", "children": [{"text": "Week"}]}]},
            "t": {"@type": "title"},
            "old": {"@type": "text", "text": {"blocks": [{"text": "An older editor."}]}},
            "raw": {"@type": "html", "html": "<p>Raw <em>page</em>.</p><script>bad()</script>"},
            "grid": {"@type": "gridBlock", "blocks_layout": {"items": ["in"]}, "blocks": {
                "in": {"@type": "slate", "value": [{"type": "p", "children": [{"text": "Deep."}]}]},
            }},
            "table": {"@type": "slateTable", "table": {"rows": [
                {"cells": [{"value": [{"children": [{"text": "Mon"}]}]},
                           {"value": [{"children": [{"text": "9-17"}]}]}]}]}},
        },
        "blocks_layout": {"items": ["t", "a", "b", "old", "raw", "grid", "table"]},
    }  # fmt: skip
    text = text_of(item, tmp_path)
    wanted = [
        "Opening <hours>",
        "& when not",
        "Week",
        "9 to 5",
        "older",
        "Raw page",
        "Deep",
        "9-17",
    ]
    places = [text.index(part) for part in wanted]
    assert places == sorted(places)
    assert "bad()" not in text
    assert "9-17" in text


def test_given_rich_text_and_plain_fields_then_both(tmp_path: Path) -> None:
    item = {
        "title": "Contact",
        "text": {"data": "<p>Come and see us.</p>", "content-type": "text/html"},
        "opening_hours": "Monday to Friday",
        "tags_list": ["a", "b"],
        "homepage": "https://x.org",
        "review_state": "published",
    }
    text = text_of(item, tmp_path)
    assert "Come and see us." in text
    assert "Opening hours: Monday to Friday" in text
    assert "published" not in text
    assert "https://x.org" not in text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["blocks", "value", "children", "text", "rows", "cells", "@type", "title"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["blocks", "blocks_layout", "text", "x"]), json_values))
def test_given_any_object_then_a_page(item: dict[str, Any]) -> None:
    assert page(item).startswith("<!doctype html>")


def test_given_very_deep_blocks_then_no_endless_recursion() -> None:
    block: dict[str, Any] = {"@type": "slate", "text": "end"}
    for _ in range(5000):
        block = {"@type": "grid", "blocks": {"a": block}}
    assert page({"title": "t", "blocks": {"a": block}})


@pytest.mark.parametrize(
    ("given_tokens", "allowed"),
    [
        (["Anonymous"], (ANY, EVERYONE)),
        (["Manager", "Authenticated"], (ANY, "group:Manager", "group:Authenticated")),
        (["user:admin"], (ANY, "user:admin", "group:admin")),
        (["group:Editors"], (ANY, "group:Editors")),
        ([], (ANY,)),
        (["", "user:", "odd:thing", "Owner"], (ANY,)),
        (["user:AuthenticatedUsers"], (ANY, "group:Authenticated")),
        (["user:Manager", "group:Reader"], (ANY, "user:Manager")),
    ],
)
def test_names(given_tokens: list[str], allowed: tuple[str, ...]) -> None:
    assert names(given_tokens) == allowed


def test_given_a_list_of_readers_then_it_is_what_the_site_says() -> None:
    assert stated_readers({"allowedRolesAndUsers": ["Reader", 7]}) == ["Reader"]
    assert stated_readers({"allowed_roles_and_users": []}) == []
    assert stated_readers({"allowedRolesAndUsers": None, "creators": ["ann"]}) is None


def test_given_sharing_then_who_has_a_role_there_and_nobody_else() -> None:
    def entry(kind: str, name: str, **roles: object) -> dict[str, object]:
        return {"type": kind, "id": name, "roles": roles}

    entries = [
        entry("user", "ann", Reader=True),
        entry("group", "team", Editor="acquired", Reader=False),
        entry("user", "eva", Reader="global", Editor=False),
        entry("user", "otto", Reviewer=True),
        entry("group", "Manager", Reader=True),
        entry("group", "AuthenticatedUsers", Reader=True),
        {"type": "user", "id": "odd", "roles": ["Reader"]},
        {"type": "role", "id": "Member", "roles": {"Reader": True}},
    ]
    found = reader_names(("Reader", "Editor", "Owner"), entries, ["dora"])
    always = ("group:Manager", "group:Site Administrator", "group:Editor", "group:Reader")
    assert found == (ANY, *always, "user:ann", "group:team", "group:Authenticated", "user:dora")


@pytest.mark.parametrize(
    ("address", "path"),
    [
        (f"{SITE}/contact", "/contact"),
        (f"{SITE}/a%20b/", "/a b"),
        (SITE, "/"),
        ("https://x.org/Plone2/contact", None),
        ("https://evil.org/Plone/contact", None),
        ("http://x.org/Plone/contact", None),
        ("", None),
    ],
)
def test_paths(address: str, path: str | None) -> None:
    assert site_path(SITE, address) == path


HOST = "/VirtualHostBase/https/www.x.org:443/Plone/VirtualHostRoot"


@pytest.mark.parametrize(
    ("path", "asked_at", "filtered"),
    [
        ("/plone/section", "/Plone/@rag-ask", "/section"),
        ("/plone/documentation/admin-guide", "/Plone/@rag-ask", "/documentation/admin-guide"),
        ("/section", "/Plone/@rag-ask", "/section"),
        ("/section/sub", "/section/@rag-ask", "/section/sub"),
        ("/section", "/section/sub/@rag-ask", "/section"),
        ("/plone", "/Plone/@rag-ask", "/"),
        ("/Plone/section/", "/@rag-ask", "/section"),
        ("section", "/x/@rag-ask", "/section"),
        ("", "/@rag-ask", "/"),
        ("", "/Plone/@rag-ask", "/"),
        ("", "/section/@rag-ask", "/section"),
        ("", "/Plone/de/%C3%BCber/@rag-ask", "/de/über"),
        ("", "/++api++/section/@rag-ask", "/section"),
        ("", "/++api++/Plone/section/@rag-ask", "/section"),
        ("", f"{HOST}/section/@rag-ask", "/section"),
        ("", f"{HOST}/_vh_cms/section/@rag-ask", "/section"),
        ("", f"{HOST}/@rag-ask", "/"),
        (SITE, "/Plone/@rag-ask", "/"),
        (f"{SITE}/section/", "/Plone/@rag-ask", "/section"),
        ("https://www.x.org/section?a=b#c", "/@rag-ask", "/section"),
        ("http://backend:8080/Plone/a%20b", "/@rag-ask", "/a b"),
        ("/section/@@view", "/@rag-ask", "/section"),
        ("/section/./sub/../sub//x/", "/@rag-ask", "/section/sub/x"),
        ("/../../section", "/@rag-ask", "/section"),
        ("/plonetown", "/@rag-ask", "/plonetown"),
    ],
)
def test_filters_name_the_site_or_not(path: str, asked_at: str, filtered: str) -> None:
    assert filter_path(path, asked_at, SITE) == filtered
    at_root = filter_path(path, asked_at, "https://www.x.org")
    assert at_root == filtered


def test_given_another_name_of_the_site_then_that_is_left_out() -> None:
    assert filter_path("/a/harbour/pier", "/@rag-ask", "https://x.org/a/harbour") == "/pier"
