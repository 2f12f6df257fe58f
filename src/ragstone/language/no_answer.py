"""What a refusal says, in the language of the question."""

ENGLISH = "The documents do not hold an answer to this question."

_SAID = {
    "en": ENGLISH,
    "de": "Die Dokumente enthalten keine Antwort auf diese Frage.",
    "fr": "Les documents ne contiennent pas de réponse à cette question.",
    "es": "Los documentos no contienen una respuesta a esta pregunta.",
    "it": "I documenti non contengono una risposta a questa domanda.",
    "pt": "Os documentos não contêm uma resposta a esta pergunta.",
    "nl": "De documenten bevatten geen antwoord op deze vraag.",
    "zh": "文档中没有这个问题的答案。",
    "ja": "文書にはこの質問への回答がありません。",
    "ko": "문서에 이 질문에 대한 답변이 없습니다.",
    "ru": "В документах нет ответа на этот вопрос.",
}


def no_answer(configured: str, language: str) -> str:
    """The configured sentence; where that is the default one, as `language` says it."""
    return _SAID.get(language, ENGLISH) if configured == ENGLISH else configured
