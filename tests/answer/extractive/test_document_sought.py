"""The answer to "which document says it" is the document, its page, and what it says."""

from collections.abc import Sequence

from ragstone.answer.extractive.extractive import Extractive
from ragstone.core.answer import Instructions
from ragstone.core.document import BlockSpan, Place, encode_blocks
from ragstone.core.turn import Ask, Passage
from ragstone.ports import Pair, PairReading
from tests.answer.extractive.test_extractive import no_tokens
from tests.engine.samples import a_passage

RULES = "The noise limit at night is 45 decibels."
FERRY = "The ferry was built in 1958. It is white.\n\nIts home port is Stavern."


class Reader:
    """Finds an answer where the whole question stands in the text, without article and mark."""

    async def read(self, pairs: Sequence[Pair]) -> list[PairReading]:
        return [
            PairReading(answers=0.9 if p.text[:-1].removeprefix("the ") in p.passage else 0.01)
            for p in pairs
        ]

    async def aclose(self) -> None:
        return None


async def answer(question: str, *passages: Passage) -> list[str]:
    answerer = Extractive(no_tokens, refuse_unlikely=0.2, reader=Reader())
    stream = answerer.answer(Ask(question), passages, Instructions("", "Nothing."))
    return [said.text async for said in stream]


def make_passage(number: int, text: str, title: str) -> Passage:
    return a_passage(number, text, title=title, path=f"/{title}.md", document_id=title)


async def test_the_document_is_named_with_what_it_says() -> None:
    passages = [make_passage(1, "Dogs must be on a lead.", "dogs"), make_passage(2, RULES, "rules")]

    said = await answer("Which document mentions the noise limit?", *passages)

    assert "".join(said).splitlines()[0] == f"rules: {RULES} [2]"


async def test_the_page_is_that_of_the_sentence_in_a_passage_of_several_pages() -> None:
    start = FERRY.index("Its")
    blocks = (
        BlockSpan("paragraph", 0, start - 2, places=(Place(0, 1),)),
        BlockSpan("paragraph", start, len(FERRY), places=(Place(start, 2),)),
    )
    passage = a_passage(1, FERRY, title="handbook", page=1, layout=encode_blocks(blocks))

    said = await answer("On which page is home port mentioned?", passage)

    assert "".join(said) == "handbook, p. 2: Its home port is Stavern. [1]"


async def test_what_no_document_says_is_refused() -> None:
    said = await answer("Which document mentions the bakery?", make_passage(1, RULES, "rules"))

    assert "".join(said) == "Nothing."


async def test_all_documents_that_say_it_are_counted_and_named() -> None:
    passages = [
        make_passage(1, "Quiet hours\n\nThe noise limit is 45 decibels.", "rules"),
        make_passage(2, "Cars rest. The noise limit of the yard is 60 decibels.", "yard"),
    ]
    told = Instructions("", "Nothing.", lists=True)
    stream = Extractive(no_tokens).answer(
        Ask("How many files mention the noise limit?"), passages, told
    )

    assert "".join([said.text async for said in stream]).splitlines() == [
        "Files (2):",
        "- rules:",
        "  The noise limit is 45 decibels. [1]",
        "- yard:",
        "  The noise limit of the yard is 60 decibels. [2]",
    ]
