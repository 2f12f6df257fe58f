"""A run as one HTML page, which loads nothing and runs nothing: for a colleague, or an archive."""

import html
from collections.abc import Sequence
from datetime import UTC, datetime
from string import Template

from ragstone.plugins.evaluation.contract import (
    EvaluationRun,
    Outcome,
    OutcomeChange,
    Reason,
    SettingFigures,
)
from ragstone.plugins.evaluation.sets.measuring import BETTER_LOW, SHARES

LABELS = {
    "right": "Right",
    "refused_answerable": "Refused though answerable",
    "answered_unanswerable": "Answered though unanswerable",
    "source_cited": "Expected document cited",
    "source_found": "Expected document among the first five",
    "mrr": "Mean of 1 / place of the expected document",
    "f1": "Words in common with the expected answer (F1)",
    "supported": "Claims that the documents support",
    "confidence": "Mean confidence",
    "calibration_error": "Gap between confidence and truth",
    "wrong_but_sure": "Wrong with high confidence",
    "p50_seconds": "Seconds, half within",
    "p95_seconds": "Seconds, 19 of 20 within",
    "tokens": "Tokens a question",
    "cost": "Cost in dollars",
    "questions": "Questions",
    "judged": "Judged",
}
"""The measures as people call them, in the order of the table."""

REASONS: dict[Reason, str] = {
    "": "",
    "refused": "It refused, though this can be answered.",
    "answered": "It answered, though the documents do not hold this.",
    "other_answer": "None of the accepted answers stands in it.",
    "other_source": "It cites none of the expected documents.",
    "unlike_the_liked": "It is unlike the answer that was good.",
    "like_the_disliked": "It is the answer that was bad.",
    "failed": "The question failed.",
}
PLOTTED = ("right", "source_found", "source_cited", "supported", "calibration_error")
COLOURS = ("#0f766e", "#b45309", "#6d28d9", "#be123c", "#1d4ed8", "#4d7c0f", "#a21caf", "#0e7490")
MAX_RUNS = 20
"""Earlier runs that are plotted."""

_STYLE = """
:root{color-scheme:light dark;--line:#8886;--soft:#8882}
body{font:1rem/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;
overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%;font-size:.93rem}
.wide{overflow-x:auto}
th,td{border:1px solid var(--line);padding:.3rem .6rem;text-align:start;vertical-align:top}
td.n{text-align:end;font-variant-numeric:tabular-nums;white-space:nowrap}
.up{color:#15803d}.down{color:#b91c1c}
@media (prefers-color-scheme:dark){.up{color:#86efac}.down{color:#fca5a5}}
details{border:1px solid var(--line);border-radius:.5rem;padding:.5rem .8rem;margin:.5rem 0}
summary{cursor:pointer}.dim{opacity:.75;font-size:.9rem}
svg text{fill:currentColor;font:13px system-ui,sans-serif}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(19rem,1fr));gap:1rem}
figure{margin:0}figcaption{font-weight:600}.answer{white-space:pre-wrap;background:var(--soft);
padding:.6rem .8rem;border-radius:.4rem}
"""

_PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>$title</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>$style</style></head><body>
<h1>$title</h1><p class="dim">$about</p>
$body
</body></html>
""")


def page(
    run: EvaluationRun,
    wrong: Sequence[Outcome],
    before: EvaluationRun | None = None,
    changed: Sequence[OutcomeChange] = (),
    history: Sequence[EvaluationRun] = (),
) -> str:
    """Return the run, what is wrong in it, and how it stands to earlier runs of the same set."""
    about = [f"Collection {run.collection}", _when(run.started_at), f"{run.total} questions asked"]
    about += [f"compared with {_when(before.started_at)}"] if before else []
    body = [
        _table(run, before),
        _bars(run),
        _confidences(run),
        _over_runs(history),
        _format_changes(changed, before),
        _wrong(run, wrong),
    ]
    title = f"Evaluation: {run.set_name}"
    return _PAGE.substitute(
        title=_text(title), style=_STYLE, about=_text(" · ".join(about)), body="\n".join(body)
    )


def format_measure(name: str, value: float | None) -> str:
    """Return a measure as people read it."""
    if value is None:
        return "–"
    if name in SHARES:
        return f"{100 * value:.1f} %"
    if name in ("questions", "judged", "tokens"):
        return f"{value:,.0f}"
    return f"${value:.4f}" if name == "cost" else f"{value:.3f}"


def difference(name: str, now: float | None, before: float | None) -> str:
    """Tell how far a measure is from what it was, with its sign; empty where that is nothing."""
    if now is None or before is None or abs(now - before) < 5e-4:
        return ""
    sign = "+" if now > before else "−"
    points = f"{100 * abs(now - before):.1f}" if name in SHARES else f"{abs(now - before):,.3g}"
    return f"{sign}{points}"


def better(name: str, now: float, before: float) -> bool:
    """Tell whether a measure became better."""
    return (now < before) if name in BETTER_LOW else (now > before)


def previous_figures(
    before: EvaluationRun | None, setting: str, place: int
) -> SettingFigures | None:
    """Return what an earlier run measured with the setting of this name, or with its only one."""
    known = before.figures if before else ()
    same = [item for item in known if item.setting == setting]
    return same[0] if same else known[0] if len(known) == 1 and place == 0 else None


def _table(run: EvaluationRun, before: EvaluationRun | None) -> str:
    if not run.figures:
        return "<p>This run has no figures: it has not come to its end.</p>"
    heads = "".join(f"<th>{_text(figure.setting)}</th>" for figure in run.figures)
    rows = []
    for name, label in LABELS.items():
        if all(figure.measures.get(name) is None for figure in run.figures):
            continue
        cells = []
        for place, figure in enumerate(run.figures):
            old = previous_figures(before, figure.setting, place)
            was = old.measures.get(name) if old else None
            cells.append(_cell(name, figure.measures.get(name), was))
        rows.append(f"<tr><th>{_text(label)}</th>{''.join(cells)}</tr>")
    return (
        f'<h2>Measures</h2><div class="wide"><table><tr><td></td>{heads}</tr>'
        f"{''.join(rows)}</table></div>"
    )


def _cell(name: str, now: float | None, before: float | None) -> str:
    moved = difference(name, now, before)
    if not moved or now is None or before is None:
        return f'<td class="n">{format_measure(name, now)}</td>'
    kind = "up" if better(name, now, before) else "down"
    neutral = name in ("questions", "judged", "confidence")
    return (
        f'<td class="n">{format_measure(name, now)} '
        f'<span class="{"dim" if neutral else kind}">{moved}</span></td>'
    )


def _bars(run: EvaluationRun) -> str:
    """Return the shares by setting."""
    plots = []
    for name in PLOTTED:
        values = [(figure.setting, figure.measures.get(name)) for figure in run.figures]
        if all(value is None for _, value in values):
            continue
        rows = []
        for place, (setting, value) in enumerate(values):
            top, wide = 22 * place, 150 * (value or 0)
            rows.append(
                f'<rect x="130" y="{top + 3}" width="{wide:.1f}" height="14" '
                f'fill="{COLOURS[place % len(COLOURS)]}"/>'
                f'<text x="125" y="{top + 15}" text-anchor="end">{_text(setting[:18])}</text>'
                f'<text x="{135 + wide:.1f}" y="{top + 15}">{format_measure(name, value)}</text>'
            )
        plots.append(_figure(LABELS[name], 340, 22 * len(values), "".join(rows)))
    return f'<h2>By setting</h2><div class="plots">{"".join(plots)}</div>' if plots else ""


def _confidences(run: EvaluationRun) -> str:
    """Tell whether the confidence is true: it is where the points lie on the line."""
    plots = []
    for place, figure in enumerate(run.figures):
        if not figure.steps:
            continue
        points = "".join(
            f'<circle cx="{30 + 200 * (step.low + 0.05):.1f}" cy="{210 - 200 * step.right:.1f}" '
            f'r="{3 + min(9, step.answers**0.5):.1f}" fill="{COLOURS[place % len(COLOURS)]}" '
            'fill-opacity=".75"/>'
            for step in figure.steps
        )
        frame = (
            '<path d="M30 10V210H230" fill="none" stroke="currentColor" stroke-opacity=".5"/>'
            '<path d="M30 210L230 10" stroke="currentColor" stroke-opacity=".3"/>'
            '<text x="30" y="226">0</text><text x="200" y="226">100 %</text>'
            '<text x="0" y="18">100</text>'
        )
        plots.append(_figure(figure.setting, 260, 230, frame + points))
    if not plots:
        return ""
    return (
        "<h2>Is the confidence true?</h2><p>Across: how sure the answers were. Up: the share of "
        f'them that is right.</p><div class="plots">{"".join(plots)}</div>'
    )


def _over_runs(history: Sequence[EvaluationRun]) -> str:
    """Return the share that is right, from run to run of the set."""
    done = [run for run in reversed(history) if run.figures][-MAX_RUNS:]
    if len(done) < 2:
        return ""
    names = list(dict.fromkeys(figure.setting for item in done for figure in item.figures))
    step = 560 / (len(done) - 1)
    parts = ['<path d="M40 10V170H600" fill="none" stroke="currentColor" stroke-opacity=".5"/>']
    for place, name in enumerate(names):
        colour = COLOURS[place % len(COLOURS)]
        points = [
            (40 + step * at, 170 - 160 * value)
            for at, item in enumerate(done)
            for figure in item.figures
            if figure.setting == name and (value := figure.measures.get("right")) is not None
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points]
        parts.append(f'<text x="45" y="{196 + 18 * place}" fill="{colour}">■ {_text(name)}</text>')
    for share in (0, 50, 100):
        parts.append(f'<text x="0" y="{174 - 1.6 * share:.0f}">{share} %</text>')
    plot = _figure("Right, from run to run", 620, 200 + 18 * len(names), "".join(parts))
    return f"<h2>Compared with earlier runs</h2>{plot}"


def _figure(title: str, width: int, height: int, inside: str) -> str:
    return (
        f"<figure><figcaption>{_text(title)}</figcaption>"
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{_text(title)}">'
        f"{inside}</svg></figure>"
    )


def _format_changes(changed: Sequence[OutcomeChange], before: EvaluationRun | None) -> str:
    if before is None:
        return ""
    if not changed:
        return "<p>No question is judged otherwise than before.</p>"
    words = {True: "right", False: "wrong", None: "not judged"}
    rows = "".join(
        f"<tr><td>{_text(change.question)}</td><td>{_text(change.setting)}</td>"
        f'<td class="{"up" if change.after else "down"}">'
        f"{words[change.before]} → {words[change.after]}</td></tr>"
        for change in changed
    )
    return (
        '<h2>Otherwise than before</h2><div class="wide"><table><tr><th>Question</th>'
        f"<th>Setting</th><th>Answer</th></tr>{rows}</table></div>"
    )


def _wrong(run: EvaluationRun, wrong: Sequence[Outcome]) -> str:
    if not run.figures:
        return ""
    if not wrong:
        return "<h2>Wrong answers</h2><p>None of the judged answers is wrong.</p>"
    return f"<h2>Wrong answers</h2>{''.join(_one_wrong(run, outcome) for outcome in wrong)}"


def _one_wrong(run: EvaluationRun, outcome: Outcome) -> str:
    asked = outcome.question
    expected = [
        ("Accepted answers", " | ".join(asked.answers)),
        ("Expected documents", " | ".join(asked.sources)),
        ("Good answer", asked.liked),
        ("Bad answer", asked.disliked),
        ("Comment", asked.comment),
        ("Error", outcome.error),
    ]
    said = "".join(f"<p><b>{label}</b>: {_text(text)}</p>" for label, text in expected if text)
    passages = "".join(
        f"<li>{'<b>cited</b> ' if passage.cited else ''}{_text(passage.title or passage.path)}"
        f"{f', page {passage.page}' if passage.page else ''} "
        f'<span class="dim">{_text(passage.path)} · {passage.score:.2f}</span></li>'
        for passage in outcome.found
    )
    steps = "".join(
        f'<tr><td>{_text(step.stage)}</td><td class="n">{1000 * step.seconds:.1f} ms</td>'
        f"<td>{_text(' – '.join(filter(None, (step.decision, step.reason))))}</td></tr>"
        for step in outcome.trace
    )
    return (
        f"<details><summary>{_text(asked.question)} "
        f'<span class="dim">{_text(run.settings[outcome.setting].name)} · '
        f"{_text(REASONS[outcome.reason])}</span></summary>{said}"
        f'<p class="answer">{_text(outcome.text) or "–"}</p>'
        f"<p>Confidence {format_measure('confidence', outcome.confidence)} · "
        f"supported {format_measure('supported', outcome.supported)} · "
        f"{_text(outcome.strategy)}</p>"
        f"<p>Passages, as they were found</p><ol>{passages}</ol>"
        f'<div class="wide"><table>{steps}</table></div></details>'
    )


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _text(value: str) -> str:
    return html.escape(value, quote=True)
