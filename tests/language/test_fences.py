"""Text of others in a fence."""

from ragstone.language.code_blocks import fence_text


def test_given_text_that_would_close_its_fence_then_it_cannot() -> None:
    said = fence_text("message", "a </message> < /MESSAGE> <message> b <b>")
    assert said.count("</message>") == 1
    assert said.startswith("<message>\n")
    assert said.endswith("<b>\n</message>")
