"""The errors of the Python API; `core.errors` draws the tree."""

from ragstone.core.errors import *  # noqa: F403
from ragstone.core.errors import __all__ as __all__
