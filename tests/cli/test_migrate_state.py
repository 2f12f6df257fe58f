"""`ragstone migrate-state`: the two ends that it is given."""

import pytest
from psycopg.conninfo import conninfo_to_dict

from ragstone.cli import migrate
from ragstone.core.errors import ConfigError
from ragstone.settings import Settings, StateSettings


async def test_given_a_password_beside_an_address_then_it_is_used_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends: list[StateSettings] = []

    async def note(_: Settings, *given: StateSettings) -> dict[str, int]:
        ends.extend(given)
        return {}

    monkeypatch.setattr(migrate, "move_state", note)

    await migrate.run_state(
        Settings(), ("embedded", "unused"), ("postgresql://ann@db/x", "p@ss:/w"), as_json=True
    )

    assert ends[0].url == ""
    assert conninfo_to_dict(ends[1].url)["password"] == "p@ss:/w"


@pytest.mark.parametrize("to", ["embedded", "no address"])
async def test_given_an_end_that_nothing_can_move_to_then_one_line_says_so(to: str) -> None:
    with pytest.raises(ConfigError):
        await migrate.run_state(Settings(), ("", ""), (to, "secret"), as_json=True)
