"""LaTeX: what its commands mean, and that nothing between them is lost."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.plugins.formats.latex import _Reader
from tests.ingest.formats.reading import opened, read

REPORT = r"""\documentclass{article}
\title{Harbour report}
\author{Ada Brown}
\begin{document}
\maketitle
\section{Catch}
% The catch is 99 tonnes.
The harbour handled 412\textsuperscript{7} tonnes.\footnote{Without crabs.} It made $10^5$ units,
about $\frac{3}{16}$. K\"oln is 40\,\% of \emph{it}~\cite{x}. \sout{The fee is 40.} The fee is 5\$.
\begin{itemize}\item Cod is \SI{12}{\euro}. \item Eel -- 20.\end{itemize}
\begin{table}\caption{Quays}\begin{tabular}{|l|rr|}\hline
 & \multicolumn{2}{c}{Length} \\ Quay & 2023 & 2024 \\ \hline North & 412 & 415 \\ \hline
\end{tabular}\end{table}
\begin{verbatim}
x = 1 % kept
\end{verbatim}
\input{chapters/one}
\end{document}
"""


def test_given_a_report_when_read_then_each_block_says_what_a_reader_sees(tmp_path: Path) -> None:
    found = opened(tmp_path, "a.tex", REPORT)

    assert found.title == "Harbour report"
    assert found.metadata["author"] == "Ada Brown"
    assert "chapters/one" in found.notes[0]
    assert [(block.kind, block.text) for block in found.blocks] == [
        ("heading", "Catch"),
        (
            "paragraph",
            "The harbour handled 412 ⁷ tonnes. It made 10^5 units, about 3/16. "
            "Köln is 40 % of it . The fee is 5$.",
        ),
        ("paragraph", "Footnote: Without crabs."),
        ("item", "- Cod is 12 €."),
        ("item", "- Eel – 20."),
        ("caption", "Quays"),
        ("table", "Quay: North; Length 2023: 412; Length 2024: 415"),
        ("code", "x = 1 % kept"),
        ("heading", "Struck-out text"),
        ("admonition", '[formerly "The fee is 40.", struck out] The fee is 5$.'),
    ]


@pytest.mark.parametrize(
    "part", ["{", r"\textbf{", r"\begin{itemize}", r"\begin{tabular}", "$", "&"]
)
def test_given_marks_that_are_deep_or_open_when_read_then_the_words_are_kept(
    tmp_path: Path, part: str
) -> None:
    assert "harbour" in "".join(
        block.text for block in read(tmp_path, "a.tex", f"The harbour. {part * 3000}")
    )


@given(st.text(alphabet="\\{}[]$&%~^_\"'`-ab 1\n.", max_size=120))
def test_given_any_marks_when_read_then_it_ends(text: str) -> None:
    assert isinstance(_Reader().write(text), str)


@pytest.mark.parametrize(
    "opened",
    [r"\[", r"\(", "$", "$$", r"\begin{verbatim}", r"\begin{align}", r"\emph{", r"\verb|"],
)
def test_what_follows_something_never_closed_is_read(opened: str, tmp_path: Path) -> None:
    source = f"{opened} The fee is 40 euros.\n" * 2_000
    found = " ".join(block.text for block in read(tmp_path, "open.tex", source))
    assert "The fee is 40 euros." in " ".join(found.split())


def test_an_escaped_dollar_is_money_inside_a_formula(tmp_path: Path) -> None:
    [block] = read(tmp_path, "money.tex", r"It costs $\$5 + \$6$ a day.")
    assert block.text == "It costs $5 + $6 a day."
