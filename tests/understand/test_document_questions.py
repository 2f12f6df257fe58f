"""Questions for the document that says something."""

import pytest

from ragstone.local.suggesting import _frames
from ragstone.understand.document_questions import (
    DocumentList,
    find_document_list,
    find_topic,
    sought_in_documents,
)


@pytest.mark.parametrize(
    ("question", "sought"),
    [
        ("Which document mentions the noise limit?", "the noise limit?"),
        ("What file says how high the tower is?", "how high the tower is?"),
        ("Which files talk about the Harbour Act?", "the Harbour Act?"),
        ("On which page of the manual is the warranty?", "the warranty?"),
        ("In which document is the premium of 2023 given?", "the premium of 2023?"),
        ("Where does it say that dogs are allowed?", "dogs are allowed?"),
        ("In welchem Dokument steht der Grenzwert für Lärm?", "der Grenzwert für Lärm?"),
        ("Auf welcher Seite wird die Garantie beschrieben?", "die Garantie?"),
        ("Welche Datei enthält etwas über Urlaub?", "Urlaub?"),
        ("Which email talks about kosher meals?", "kosher meals?"),
        ("In welchem Dokument steht, wie lange es reicht?", "wie lange es reicht?"),
        ("Wo steht, wer den Bau leitet?", "wer den Bau leitet?"),
        ("Dans quel document se trouve le tarif ?", "le tarif?"),
        ("¿Qué documento menciona el aforo?", "el aforo?"),
        ("¿En qué página está la garantía?", "la garantía?"),
        ("哪份文件提到夜间噪音？", "夜间噪音?"),
        ("访客的规定在哪个文件里？", "访客?"),
        ("保証はどの文書に書かれていますか。", "保証?"),
    ],
)
def test_what_a_document_is_to_say_is_found(question: str, sought: str) -> None:
    assert sought_in_documents(question) == sought


@pytest.mark.parametrize(
    "question",
    [
        "Which documents are required for a visa?",
        "Which file does the tool read?",
        "What page size does the printer take?",
        "Which document do I have to sign?",
        "What does travel-policy-2022.md say about hotels?",
        "Where is the warden?",
        "Welche Dokumente brauche ich für den Antrag?",
        "Wo steht das Auto?",
        "需要哪些文件？",
        "最便宜的设备是哪个？",
        "哪些规定适用于访客？",
        "",
        "Which document mentions " + "the noise limit and " * 40,
    ],
)
def test_a_question_for_something_else_is_left_alone(question: str) -> None:
    assert not sought_in_documents(question)


@pytest.mark.parametrize(
    ("question", "about", "called"),
    [
        ("How many documents are about travel?", "travel", "documents"),
        ("Which documents mention the noise limit?", "the noise limit", "documents"),
        ("How many of the files mention dogs?", "dogs", "files"),
        ("How many PDFs are there about noise?", "noise", "PDFs"),
        ("In how many files is the warranty mentioned?", "the warranty", "files"),
        ("List all documents that mention dogs", "dogs", "documents"),
        ("Show me all emails about kosher meals.", "kosher meals", "emails"),
        ("Wie viele Dokumente erwähnen Lärm?", "Lärm", "Dokumente"),
        ("In welchen Dateien steht etwas über Urlaub?", "Urlaub", "Dateien"),
        ("Combien de documents parlent du tarif ?", "tarif", "documents"),
        ("¿Cuántos documentos mencionan el aforo?", "el aforo", "documentos"),
        ("有多少份文件提到夜间噪音？", "夜间噪音", "文件"),
        ("保証について書かれている文書はいくつありますか。", "保証", "文書"),
    ],
)
def test_what_all_documents_are_to_say_is_found(question: str, about: str, called: str) -> None:
    assert find_document_list(question) == DocumentList(about, called)


@pytest.mark.parametrize(
    "question",
    [
        "Which document mentions the noise limit?",
        "How many documents do I need for a visa?",
        "Which documents are required for a visa?",
        "How many pages does the manual have?",
        "How many employees are there?",
        "Wie viele Dokumente brauche ich?",
        "需要哪些文件？",
    ],
)
def test_a_question_for_one_document_or_something_else_lists_none(question: str) -> None:
    assert find_document_list(question) is None


@pytest.mark.parametrize("language", sorted(_frames()))
def test_a_suggested_question_is_about_what_it_names(language: str) -> None:
    assert find_topic(_frames()[language]["section"].format("Garantie 3")) == "Garantie 3?"


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("What does the manual say about the warranty?", "the warranty?"),
        ("Was steht im Handbuch?", ""),
        ("What did the document say?", ""),
        ("What does Ada say about the plan?", ""),
        ("What do the documents say about " + "the noise limit and " * 40, ""),
    ],
)
def test_a_topic_is_what_any_document_is_to_tell_about(question: str, topic: str) -> None:
    assert find_topic(question) == topic
