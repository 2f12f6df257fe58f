"""What a call of a chat model costs, from the prices that its provider publishes.

The prices come with genai-prices, which pydantic-ai brings; nothing is downloaded.
"""

from decimal import Decimal

from genai_prices.data_snapshot import get_snapshot
from pydantic_ai.usage import RequestUsage

from ragstone.ports import Profile

MILLION = 1_000_000


class Prices:
    """The prices of one model: those of its profile, else the published ones.

    A provider is known by its address or its name. A server of one's own with a published model's
    name (a gateway) costs what the provider takes; a name with a tag (`mistral:latest`) is a local
    copy, whose price nobody knows.
    """

    def __init__(self, profile: Profile, model: str, provider: str = "", url: str = "") -> None:
        self._own = (profile.input_price, profile.output_price)
        self._lookup_keys = _lookup_keys(model, provider, url)
        get_snapshot()

    def cost(self, used: RequestUsage) -> float | None:
        """US dollars, None where the price is unknown."""
        into, out = self._own
        if into is not None and out is not None:
            return (used.input_tokens * into + used.output_tokens * out) / MILLION
        price = self._find_price(used)
        return None if price is None else float(price)

    def _find_price(self, used: RequestUsage) -> Decimal | None:
        snapshot = get_snapshot()
        for model, provider, url in self._lookup_keys:
            try:
                return snapshot.calc(used, model, provider, url, None).total_price
            except (LookupError, ValueError):
                continue
        return None


def _lookup_keys(model: str, provider: str, url: str) -> list[tuple[str, str | None, str | None]]:
    """Model with its provider or address, as its price is looked up, the most specific first."""
    if not url:
        return [(model, provider, None)]
    short = model.rpartition("/")[2]
    by_name: list[tuple[str, str | None, str | None]] = (
        [] if ":" in short else [(short, None, None)]
    )
    return [(model, None, url), *by_name]
