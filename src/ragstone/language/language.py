"""Which language a text is in: by its script where that decides, else by character statistics;
and what languages are called, and how they say that there is no answer."""

import re
from collections import Counter
from functools import cache, lru_cache
from typing import Any

_SAMPLE_CHARS = 1000
_MIN_LETTERS = 12
_SURE = 0.6
_LIKELY = 0.35
_AHEAD = 3
_MIN_SHARE = 0.3
_SCRIPTS: tuple[tuple[int, int, str], ...] = (
    (0x0370, 0x03FF, "el"),
    (0x1F00, 0x1FFF, "el"),
    (0x0400, 0x052F, "cyrillic"),
    (0x0530, 0x058F, "hy"),
    (0x0590, 0x05FF, "he"),
    (0x0600, 0x077F, "arabic"),
    (0xFB50, 0xFDFF, "arabic"),
    (0x0900, 0x097F, "devanagari"),
    (0x0980, 0x09FF, "bn"),
    (0x0A00, 0x0A7F, "pa"),
    (0x0A80, 0x0AFF, "gu"),
    (0x0B80, 0x0BFF, "ta"),
    (0x0C00, 0x0C7F, "te"),
    (0x0C80, 0x0CFF, "kn"),
    (0x0D00, 0x0D7F, "ml"),
    (0x0D80, 0x0DFF, "si"),
    (0x0E00, 0x0E7F, "th"),
    (0x0E80, 0x0EFF, "lo"),
    (0x1000, 0x109F, "my"),
    (0x10A0, 0x10FF, "ka"),
    (0x1200, 0x139F, "am"),
    (0x1780, 0x17FF, "km"),
    (0x3040, 0x30FF, "ja"),
    (0x3400, 0x9FFF, "zh"),
    (0x1100, 0x11FF, "ko"),
    (0xAC00, 0xD7AF, "ko"),
)
_SHARED = {
    "cyrillic": ("ru", ("ru", "uk", "be", "bg", "sr", "mk", "kk", "ky", "mn")),
    "arabic": ("ar", ("ar", "fa", "ur", "ps")),
    "devanagari": ("hi", ("hi", "mr", "ne")),
}
"""Scripts of several languages: the most likely one, and the candidates."""
_LETTER_SIGNS = {
    "uk": re.compile("[іїєґІЇЄҐ]"),
    "ru": re.compile("[ыэъёЫЭЪЁ]"),
    "fa": re.compile("[پچژگ]"),
    "ur": re.compile("[ٹڈڑںےہ]"),
}
_COMMON_ENGLISH = re.compile(
    r"\b(?:the|is|are|what|who|where|when|why|how|which|does|did|do|of|and|to|in|for|with|was|"
    r"were|can|my|our|your|this|that|it|on|by|at|from)\b",
    re.IGNORECASE,
)
_ENGLISH_SHARE = 0.3
_SMALL_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the is are what who where when why how which does did do of and to for with was "
        "were can my our your this that it on by at from",
        "de": "der die das den dem des ein eine einen einem einer und ist sind wer was wo wie wann "
        "warum wem welche welcher welches für mit von zum zur nicht kann wird werden ich wir es",
        "fr": "le la les un une des du et est sont qui que quoi quel quelle quels quelles où "
        "comment pourquoi pour avec dans au aux ce cette il je peut ne pas c d l qu",
        "es": "el la los las un una unos unas y es son qué quién quiénes cuál cuándo dónde cómo "
        "cuánto cuánta para con por del al se puede está no",
        "it": "il lo la gli un una e è sono che chi cosa quale quali quando dove come perché "
        "quanto quanta per con del della dei di da si può non",
        "pt": "o a os as um uma e é são que quem qual quais quando onde como porquê quanto para "
        "com do da dos das por não se pode isso",
        "nl": "de het een en is zijn wie wat waar wanneer waarom hoe welke voor met van niet kan "
        "wordt ik wij er",
    }.items()
}
"""Words that few texts of a language do without, for texts too short for statistics."""
_MODEL_CODES = (
    "af ar az be bg bn bs ca cs cy da de el en es et eu fa fi fr ga gl he "
    "hi hr hu hy id is it ja ka kk ko ky lt lv mk mn mr ms mt nb ne nl nn "
    "no pl ps pt ro ru sk sl sq sr sv sw ta te th tl tr uk ur uz vi zh"
)
"""What the model may answer: without rare relatives ("ext", "pcm") it is far surer."""
_WORDS = re.compile(r"[^\W\d_]+")


def detect(text: str) -> str:
    """Return the ISO 639-1 code of the text's language, "" when it is too short or unclear.

    Reads the first 1,000 characters, in under a millisecond once the model is loaded (which
    happens with the first text whose script does not decide).
    """
    return _detect(text[:_SAMPLE_CHARS])


@lru_cache(256)
def _detect(sample: str) -> str:
    """Detect the language; kept, as a dozen places ask for that of one question."""
    words = _WORDS.findall(sample)
    letters = sum(map(len, words))
    if letters == 0:
        return ""
    if script := _script(sample, letters):
        return _tell_shared_script(sample, script) if script in _SHARED else script
    return _detect_latin(words, letters)


def _script(sample: str, letters: int) -> str:
    if sample.isascii():
        return ""
    found: Counter[str] = Counter()
    for char, count in Counter(sample).items():
        code = ord(char)
        if code >= _SCRIPTS[0][0]:
            for name in (name for low, high, name in _SCRIPTS if low <= code <= high):
                found[name] += count
    if not found:
        return ""
    # Japanese mixes kana with Chinese characters; Chinese has no kana.
    if found["ja"] * 10 > found["zh"]:
        found["ja"] += found.pop("zh", 0)
    name, count = found.most_common(1)[0]
    return name if count >= _MIN_SHARE * letters else ""


def _tell_shared_script(sample: str, script: str) -> str:
    likely, candidates = _SHARED[script]
    for code in candidates:
        if code in _LETTER_SIGNS and _LETTER_SIGNS[code].search(sample):
            return code
    if sum(map(len, _WORDS.findall(sample))) < _MIN_LETTERS:
        return likely
    code = _classify(sample)
    return code if code in candidates else likely


def _detect_latin(words: list[str], letters: int) -> str:
    text = " ".join(words)
    english = len(_COMMON_ENGLISH.findall(text))
    if len(words) >= 3 and english > 1 and english >= _ENGLISH_SHARE * len(words):
        return "en"
    return (_classify(text) if letters >= _MIN_LETTERS else "") or _guess_by_small_words(words)


def _guess_by_small_words(words: list[str]) -> str:
    """The language whose frequent words are the most in a short text, "" where several are."""
    # A word in capitals is a name: "IS" and "EL" are no small words.
    small = [word.casefold() for word in words if len(word) > 1 and not word.isupper()]
    counts = Counter(
        {code: sum(word in own for word in small) for code, own in _SMALL_WORDS.items()}
    )
    (code, first), (_, second) = counts.most_common(2)
    return code if first > second else ""


def _classify(text: str) -> str:
    """Return the most likely language if it is likely enough or far ahead of the next, else ""."""
    (code, first), (_, second) = _identifier().rank(text)[:2]
    if first < _SURE and (first < _LIKELY or first < _AHEAD * second):
        return ""
    # The model tells the two forms of Norwegian apart; nothing else here does.
    return "no" if code in ("nb", "nn") else str(code)


@cache
def _identifier() -> Any:
    from py3langid import langid

    model: Any = langid.LanguageIdentifier
    identifier = model.from_model_file(langid.MODEL_FILE, norm_probs=True)
    identifier.set_languages([code for code in _MODEL_CODES.split() if code in identifier.labels])
    return identifier


_LANGUAGE_NAMES = {
    "ar": "Arabic (العربية)",
    "bg": "Bulgarian (български)",
    "cs": "Czech (čeština)",
    "da": "Danish (dansk)",
    "de": "German (Deutsch)",
    "el": "Greek (ελληνικά)",
    "en": "English",
    "es": "Spanish (español)",
    "fa": "Persian (فارسی)",
    "fi": "Finnish (suomi)",
    "fr": "French (français)",
    "he": "Hebrew (עברית)",
    "hi": "Hindi (हिन्दी)",
    "hu": "Hungarian (magyar)",
    "id": "Indonesian (Bahasa Indonesia)",
    "it": "Italian (italiano)",
    "ja": "Japanese (日本語)",
    "ko": "Korean (한국어)",
    "nl": "Dutch (Nederlands)",
    "no": "Norwegian (norsk)",
    "pl": "Polish (polski)",
    "pt": "Portuguese (português)",
    "ro": "Romanian (română)",
    "ru": "Russian (русский)",
    "sv": "Swedish (svenska)",
    "th": "Thai (ไทย)",
    "tr": "Turkish (Türkçe)",
    "uk": "Ukrainian (українська)",
    "vi": "Vietnamese (tiếng Việt)",
    "zh": "Chinese (中文)",
}


def language_name(code: str) -> str:
    """The language's name, in English and in itself; "the language of the question" if unknown."""
    return _LANGUAGE_NAMES.get(code, "the language of the question")


ENGLISH = "The documents do not hold an answer to this question."
NOTHING_FOUND = "I couldn't find relevant information to answer your question."
"""The sentence of the VoiceHelper document."""

NOTHING_FOUND_IN_CHINESE = "参考资料中未找到相关信息"
"""The same document's, for a question in Chinese."""

_NO_ANSWERS = {
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


_UNREAD = {
    "de": "{file} konnte nicht gelesen werden: {reason}",
    "fr": "{file} n'a pas pu être lu : {reason}",
    "es": "No se pudo leer {file}: {reason}",
    "it": "Non è stato possibile leggere {file}: {reason}",
    "pt": "Não foi possível ler {file}: {reason}",
    "nl": "{file} kon niet worden gelezen: {reason}",
    "zh": "无法读取 {file}：{reason}",
    "ja": "{file} を読み取れませんでした：{reason}",
    "ko": "{file} 파일을 읽을 수 없습니다: {reason}",
    "ru": "Не удалось прочитать {file}: {reason}",
}


def say_unread(file: str, reason: str, language: str) -> str:
    """Return the sentence that a file could not be read, which only begins in `language`."""
    said = _UNREAD.get(language, "{file} could not be read: {reason}")
    return said.format(file=file, reason=reason)


def no_answer(configured: str, language: str) -> str:
    """Return the refusal: the configured sentence; a default one as `language` says it."""
    if configured == NOTHING_FOUND and language == "zh":
        return NOTHING_FOUND_IN_CHINESE
    is_default = configured in (ENGLISH, NOTHING_FOUND)
    return _NO_ANSWERS.get(language, configured) if is_default else configured
