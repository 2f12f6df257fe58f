"""Which questions want a document summed up, and what they call it."""

import pytest

from ragstone.language.language import detect
from ragstone.understand.question_kinds import by_rules
from ragstone.understand.route import find_wanted_document


def named(question: str) -> str | None:
    return find_wanted_document(question, by_rules(question, detect(question)))


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Summarise the minutes of 12 March 2025.", "minutes 12 March 2025"),
        ("What is RFC 1350 about?", "RFC 1350"),
        ("What does the page on backups cover?", "backups"),
        ("tl;dr of the changelog", "changelog"),
        ("Worum geht es im Handbuch?", "Handbuch"),
        ("Résume le guide d'installation", "guide installation"),
        ("¿De qué trata el manual?", "manual"),
        ("总结一下安装指南", "安装指南"),
        ("インストールガイドを要約してください", "インストールガイド"),
    ],
)
def test_a_summary_is_wanted_of_what_the_question_names(question: str, name: str) -> None:
    assert named(question) == name


@pytest.mark.parametrize(
    "question",
    [
        "What is this document about?",
        "tl;dr",
        "Fasse das zusammen",
        *("Summarise this document", "Summarise all documents"),
        *("Fasse dieses Dokument zusammen", "Fasse alle Dokumente zusammen"),
        *("总结这份文件", "总结所有文件"),
        *("이 문서를 요약해 주세요", "모든 문서를 요약해 주세요"),
        *("لخص هذا المستند", "لخص جميع المستندات"),
    ],
)
def test_without_a_name_any_document_is_meant(question: str) -> None:
    assert named(question) == ""


@pytest.mark.parametrize(
    "question", ["Who is the CEO?", "How do I write a summary line?", "How much is about 5 euros?"]
)
def test_other_questions_want_no_summary(question: str) -> None:
    assert named(question) is None
