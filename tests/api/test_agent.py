"""The parameters of an agent, as the clients of Python take them."""

import pytest

from ragstone.api.params import AskParams, SearchParams, to_ask
from ragstone.core.errors import InputError
from ragstone.core.turn import Principal


def test_given_agent_then_tools_may_be_called_first() -> None:
    params = {"agent": True, "organisation": "GO_RAG", "approves": True}
    asked = to_ask("q", Principal(), params, AskParams)
    assert (asked.search_type, asked.organisation, asked.approves) == ("pa", "GO_RAG", True)
    plain = to_ask("q", Principal(), {"agent": False}, AskParams)
    assert (plain.search_type, plain.approves) == ("rag", False)


@pytest.mark.parametrize(
    "params", [{"agent": "yes"}, {"organisation": "a b"}, {"organisation": "x" * 65}]
)
def test_given_a_value_that_does_not_fit_then_it_says_so(params: dict[str, object]) -> None:
    with pytest.raises(InputError):
        to_ask("q", Principal(), params, AskParams)


def test_given_comments_then_these_are_asked_and_no_agent() -> None:
    assert to_ask("q", Principal(), {"comments": True}, AskParams).search_type == "voc"
    with pytest.raises(InputError, match="exclude each other"):
        to_ask("q", Principal(), {"comments": True, "agent": True}, AskParams)


def test_given_a_search_then_there_is_no_agent() -> None:
    with pytest.raises(TypeError):
        to_ask("q", Principal(), {"agent": True}, SearchParams)
