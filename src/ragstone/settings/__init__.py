"""Every setting, read once from a file, an optional `.env` file and the environment.

Nested names are joined with two underscores: `LLM__BASE_URL`, `EMBEDDING__MODEL`. Each field has
a default and a help text; `docs/reference.md` lists them, and a test holds the two together. What
can change at run time is changed in the state store: `ragstone.recipes.setting_table`.
"""

from ragstone.settings.access import *  # noqa: F403
from ragstone.settings.all import *  # noqa: F403
from ragstone.settings.models import *  # noqa: F403
from ragstone.settings.origin import *  # noqa: F403
from ragstone.settings.rag import *  # noqa: F403
from ragstone.settings.read import *  # noqa: F403
from ragstone.settings.server import *  # noqa: F403
from ragstone.settings.storage import *  # noqa: F403
