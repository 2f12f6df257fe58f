"""What the stages need from the outside, as Protocols; adapters live in their own packages.

`Adapters` bundles one adapter of each for the stages. Only `build.py` makes one.
"""

from ragstone.ports.adapters import *  # noqa: F403
from ragstone.ports.answering import *  # noqa: F403
from ragstone.ports.cache import *  # noqa: F403
from ragstone.ports.catalog import *  # noqa: F403
from ragstone.ports.conversations import *  # noqa: F403
from ragstone.ports.embedding import *  # noqa: F403
from ragstone.ports.graph import *  # noqa: F403
from ragstone.ports.guarding import *  # noqa: F403
from ragstone.ports.index import *  # noqa: F403
from ragstone.ports.jobs import *  # noqa: F403
from ragstone.ports.state import *  # noqa: F403
