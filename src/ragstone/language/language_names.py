"""What languages are called, for instructions to a chat model."""

_NAMES = {
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
    return _NAMES.get(code, "the language of the question")
