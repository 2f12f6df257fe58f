"""The newest or oldest document of a name: the answer is its title, with its date."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from ragstone.core.turn import Passage
from ragstone.language.edition_names import edition_words, mentions_any
from ragstone.language.words import content_word_set
from ragstone.retrieve.editions import edition_question_words, read_edition


def which_document(question: str, passages: Sequence[Passage]) -> Passage | None:
    """Find the best passage of the newest or oldest document that a question asks for, whose title
    or path says all else of the question; None where it asks for something else."""
    first = mentions_any(question, "first")
    if not first and not mentions_any(question, "newest"):
        return None
    called = content_word_set(" ".join(edition_words("document")))
    about = content_word_set(question) - edition_question_words() - called
    dated = {
        date: passage
        for passage in reversed(passages)
        if about <= _name_words(passage) and (date := read_edition(passage.hit.chunk).date)
    }
    return dated[(min if first else max)(dated)] if about and dated else None


def _name_words(passage: Passage) -> frozenset[str]:
    chunk = passage.hit.chunk
    return content_word_set(f"{chunk.title} {PurePosixPath(chunk.path).stem}")
