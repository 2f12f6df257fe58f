"""The settings as they are sent to the processes of a server."""

import pickle

from ragstone.settings import load


def test_settings_arrive_as_they_were_with_what_is_added() -> None:
    settings = load(None, **{"server.workers": 3})
    arrived = pickle.loads(pickle.dumps(settings))
    assert arrived == settings
    assert type(arrived) is type(settings)
