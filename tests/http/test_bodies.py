"""What the bodies of requests share."""

import pytest
from pydantic import ValidationError

from ragstone.http.bodies import Body, ClosedBody, Name, NullableBody, StrictBody, Text


class Lenient(Body):
    text: Text
    number: int = 1


class Strict(StrictBody):
    number: int


class Nullable(NullableBody):
    number: int = 1


class Closed(ClosedBody):
    name: Name = ""


def test_half_characters_become_question_marks_and_unknown_fields_are_ignored() -> None:
    body = Lenient.model_validate({"text": "a\ud800b", "number": "2", "other": 1})
    assert body == Lenient(text="a?b", number=2)


def test_a_known_field_of_another_type_is_refused_where_types_must_fit() -> None:
    assert Strict.model_validate({"number": 2, "other": 1}).number == 2
    with pytest.raises(ValidationError):
        Strict.model_validate({"number": "2"})


def test_null_is_the_default_where_that_is_said() -> None:
    assert Nullable.model_validate({"number": None}).number == 1
    with pytest.raises(ValidationError):
        Nullable.model_validate([1])


def test_an_unknown_field_or_a_long_name_is_refused_where_bodies_are_closed() -> None:
    assert Closed.model_validate({"name": "n" * 255}).name == "n" * 255
    for given in ({"nam": "n"}, {"name": "n" * 256}):
        with pytest.raises(ValidationError):
            Closed.model_validate(given)
