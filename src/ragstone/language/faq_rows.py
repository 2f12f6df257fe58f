"""Rows of a table of questions and answers, as its text has them: "question: ...; answer: ..."."""

import re

_QUESTIONS = "q|questions?|frage|pregunta|domanda|pergunta|vraag|вопрос|问题?|問題|質問|질문"
_ANSWERS = "a|answers?|antwort|réponse|respuesta|risposta|resposta|antwoord|ответ|答案?|回答|답변?"

FAQ_ROW = re.compile(
    rf"(?:{_QUESTIONS}): (?P<question>[^\n]+?); (?:{_ANSWERS}): (?P<answer>[^\n]+)", re.IGNORECASE
)
"""Columns of these names; those behind them count as a part of the answer."""
