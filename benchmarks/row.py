"""One measured figure and its bound."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`value` in `unit`; `least` and `most` are the bounds it must keep, if any; `note`
    is shown behind the value; a `detail` is in results.md but not in docs/measured.md."""

    what: str
    value: float
    unit: str = ""
    least: float | None = None
    most: float | None = None
    note: str = ""
    detail: bool = False

    @property
    def met(self) -> bool:
        """Whether the value keeps its bounds."""
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)

    @property
    def shown(self) -> str:
        note = f"({self.note})" if self.note else ""
        return " ".join(part for part in (_short(self.value), self.unit, note) if part)

    @property
    def bound_shown(self) -> str:
        bounds = [("at least", self.least), ("at most", self.most)]
        return " and ".join(f"{word} {_short(b)}" for word, b in bounds if b is not None)

    def line(self) -> str:
        """Return the row for a terminal."""
        verdict = "" if self.met else "  MISSED"
        bound = f"  ({self.bound_shown})" if self.bound_shown else ""
        return f"{self.what}: {self.shown}{bound}{verdict}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
