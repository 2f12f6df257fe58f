"""The report is one page that stands alone, with everything in it as text."""

from html.parser import HTMLParser

from ragstone.core.turn import StageTrace
from ragstone.plugins.evaluation.contract import (
    AskSetting,
    ConfidenceStep,
    EvaluationRun,
    FoundPassage,
    Outcome,
    OutcomeChange,
    SetQuestion,
    SettingFigures,
)
from ragstone.plugins.evaluation.sets import reporting

EVIL = '<script>alert(1)</script><img src=x onerror="alert(1)">'
STEP = ConfidenceStep(0.9, 4, 0.75)


def run(right: float, at: float, names: tuple[str, ...] = ("planned", "words")) -> EvaluationRun:
    figures = tuple(
        SettingFigures(name, {"right": right, "p50_seconds": 0.1, "mrr": None}, (STEP,))
        for name in names
    )
    settings = tuple(AskSetting(name) for name in names)
    return EvaluationRun(
        f"r{at}", "s", f"Set {EVIL}", "default", settings, at, "done", at + 1, 2, 2, figures
    )


WRONG = Outcome(
    0,
    1,
    SetQuestion(f"Why {EVIL}?", (EVIL,), comment=EVIL),
    f"Because {EVIL}",
    "stop",
    False,
    "other_answer",
    0.9,
    found=(FoundPassage("d", EVIL, f"/{EVIL}", 2, 0, 1, 0.5, True),),
    trace=(StageTrace("retrieve", 0.01, "done", EVIL, EVIL),),
)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        if tag not in ("meta", "rect", "circle", "path", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag


def test_the_page_stands_alone_and_markup_stays_text() -> None:
    change = OutcomeChange(f"Why {EVIL}?", "words", True, False, 0)
    history = [run(0.5, 2.0), run(0.75, 1.0)]
    page = reporting.page(history[0], [WRONG], history[1], [change], history)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert not tags.seen & {"script", "img", "link", "iframe"}
    assert "default-src 'none'" in page
    assert "50.0 %" in page
    assert "−25.0" in page, "how far it is from the run before"
    assert "right → wrong" in page
    assert page.count("<polyline") == 2
    assert "None of the accepted answers stands in it." in page


def test_a_run_without_an_end_says_so() -> None:
    page = reporting.page(
        EvaluationRun("r", "s", "Set", "default", (AskSetting("a"),), 1.0, "cancelled"), []
    )
    assert "it has not come to its end" in page


def test_figures_are_compared_with_the_setting_of_the_same_name() -> None:
    before = run(0.5, 1.0)
    assert reporting.previous_figures(before, "words", 1) is before.figures[1]
    assert reporting.previous_figures(before, "new", 0) is None
    alone = run(0.5, 1.0, ("one",))
    assert reporting.previous_figures(alone, "renamed", 0) is alone.figures[0]
    assert reporting.previous_figures(None, "words", 0) is None


def test_better_is_lower_for_what_should_be_little() -> None:
    assert reporting.better("right", 0.6, 0.5)
    assert reporting.better("wrong_but_sure", 0.1, 0.2)
    assert not reporting.better("cost", 0.2, 0.1)
