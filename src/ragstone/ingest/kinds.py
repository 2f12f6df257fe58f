"""What kind of text a piece is, by its section's name and its looks."""

import re

from ragstone.language.faq_rows import FAQ_ROW

_NAMES = {
    "glossary": {
        "glossary", "glossary of terms", "definitions", "defined terms", "abbreviations",
        "acronyms", "glossar", "begriffe", "begriffsbestimmungen", "abkürzungen",
        "abkürzungsverzeichnis", "glossaire", "définitions", "abréviations", "glosario",
        "definiciones", "abreviaturas", "glossario", "definizioni", "abbreviazioni", "definições",
        "begrippenlijst", "glosariusz", "глоссарий", "определения", "术语表", "术语",
        "词汇表", "用語集", "用語", "용어집", "용어",
    },
    "faq": {
        "faq", "faqs", "frequently asked questions", "questions and answers", "q&a",
        "häufige fragen", "häufig gestellte fragen", "fragen und antworten", "foire aux questions",
        "questions fréquentes", "preguntas frecuentes", "domande frequenti",
        "perguntas frequentes", "veelgestelde vragen", "często zadawane pytania",
        "часто задаваемые вопросы", "常见问题", "よくある質問", "자주 묻는 질문",
    },
    "credits": {
        "credits", "image credits", "photo credits", "picture credits", "illustration credits",
        "photography credits", "bildnachweis", "bildnachweise", "bildquellen",
        "abbildungsnachweis", "crédits photo", "crédits photos", "crédits photographiques",
        "créditos fotográficos", "créditos de las imágenes", "crediti fotografici", "图片来源",
        "画像クレジット", "acknowledgements", "acknowledgments", "contributors",
        "about the authors", "imprint", "colophon", "danksagung", "danksagungen", "impressum",
        "mitwirkende", "remerciements", "crédits", "mentions légales", "agradecimientos",
        "créditos", "ringraziamenti", "crediti", "agradecimentos", "dankwoord", "podziękowania",
        "благодарности", "致谢", "鸣谢", "謝辞", "감사의 글",
    },
}  # fmt: skip
_TOC_NAMES = {
    "contents", "table of contents", "inhalt", "inhaltsverzeichnis", "table des matières",
    "sommaire", "índice", "contenido", "indice", "sommario", "inhoud", "inhoudsopgave",
    "spis treści", "содержание", "оглавление", "目录", "目次", "차례", "목차",
}  # fmt: skip
_NUMBERING = re.compile(r"^(?:[\divxlc]+[.)]|[a-z][.)]|[\d.]+)\s+", re.IGNORECASE)
_LEADER = re.compile(r"(?:\.\s?){3,}\s*\d+\s*\|?$|…+\s*\d+$|(?:·\s?){3,}\d+$")
_NUMBERED_END = re.compile(r"\D.*\s\d{1,4}$")


def chunk_kind(text: str, section: tuple[str, ...], only_table: bool) -> str:
    """toc, glossary, faq, credits, table or normal. A section's name counts for those below it, and
    a table of questions and answers is a FAQ."""
    names = [strip_numbering(heading).strip(" :.").casefold() for heading in section]
    if _is_contents(text, any(name in _TOC_NAMES for name in names)):
        return "toc"
    for kind, known in _NAMES.items():
        if any(name in known for name in names):
            return kind
    if only_table:
        return "faq" if all(map(FAQ_ROW.match, text.splitlines())) else "table"
    return "normal"


def strip_numbering(heading: str) -> str:
    """Return the heading without the number of its section."""
    return _NUMBERING.sub("", heading)


def _is_contents(text: str, named: bool) -> bool:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    # Two such lines are a sentence with a number at its end.
    if len(lines) < 3:
        return False
    if sum(bool(_LEADER.search(line)) for line in lines) * 5 >= len(lines) * 2:
        return True
    return named and sum(bool(_NUMBERED_END.match(line)) for line in lines) * 2 >= len(lines)
