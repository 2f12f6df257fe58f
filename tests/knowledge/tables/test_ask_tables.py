"""Questions over tables, from ingested files to checked answers, in real DuckDB."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from ragstone import build
from ragstone.core.errors import ModelUnavailable
from ragstone.core.events import Done
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Hit, Principal, Turn
from ragstone.engine.stage import Step
from ragstone.index.edge.index import EdgeIndex
from ragstone.local import Ragstone
from ragstone.plugins.tables.ask_tables import Tables
from ragstone.plugins.tables.sandbox import TableSandbox
from ragstone.service import IngestRequest
from ragstone.settings import Settings
from ragstone.verify.reading_judge import ReadingJudge
from tests.engine.adapters import ran
from tests.engine.completer import Replies
from tests.hashing import OneEmbedder, bundled_e5
from tests.knowledge.tables.files import INVENTORY, a_workbook, chunks_of, written
from tests.local_checker import local_checker, local_reader

STAFF = Principal(user="eva", groups=("staff",))
GUEST = Principal(user="guest")
SECRET = INVENTORY.replace("EQ-0108", "EQ-9108").replace("33900", "999999")


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    written(tmp_path)
    secret = written(tmp_path, SECRET, "inventory-of-the-board.csv")
    a_workbook(tmp_path)
    files = (("equipment-inventory.csv", ("*",)), ("budget-2025.xlsx", ("*",)))
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as opened:
        for name, allowed in (*files, (secret.name, ("group:staff",))):
            request = IngestRequest((str(tmp_path / name),), allowed=allowed)
            assert [item async for item in opened.ingest(request)][-1].failed == ()
        yield opened


async def asked(ragstone: Ragstone, question: str, who: Principal = GUEST) -> Turn:
    events = [item async for item in ragstone.ask(Ask(question, principal=who))]
    assert isinstance(events[-1], Done)
    return events[-1].turn


async def test_given_a_sum_then_rows_query_and_verdicts_stand_in_the_answer(
    ragstone: Ragstone,
) -> None:
    turn = await asked(ragstone, "What do all ventilators cost in total?")
    answer = turn.answer
    assert answer is not None
    assert answer.computed is not None
    first, *rows = answer.text.splitlines()
    assert "is 65,300 where Device is Ventilator." in first
    assert [row.split(";")[0] for row in rows] == ["- Asset: EQ-0107", "- Asset: EQ-0108"]
    assert answer.computed.sql.startswith('SELECT SUM("Price EUR") FROM "equipment_inventory"')
    assert (answer.computed.rows, answer.computed.used) == ((("65300",),), 2)
    assert answer.computed.recomputed
    assert [verdict.label for verdict in turn.verdicts] == ["supported"] * 3
    assert turn.verdicts[0].reason == f"computed: {answer.computed.sql}"
    [cited] = answer.citations
    assert cited.path.endswith("equipment-inventory.csv")
    assert answer.supported is not None
    assert answer.supported.holds
    stages = {item.stage: item.reason for item in turn.trace}
    assert stages["tables"] == answer.computed.sql


async def test_given_a_document_that_the_asker_may_not_read_then_it_has_no_part(
    ragstone: Ragstone,
) -> None:
    question = "What is the highest price of a device?"
    guests = await asked(ragstone, question)
    assert guests.answer is not None
    assert "56,200" in guests.answer.text
    # Not the price alone: the digits of a time may be those of any number.
    assert "EQ-9108" not in repr(guests)
    assert "inventory-of-the-board" not in repr(guests)
    assert "999999" not in guests.answer.text
    staff = await asked(ragstone, question, STAFF)
    assert staff.answer is not None
    assert staff.answer.computed is None, "two tables of this kind: neither is meant for sure"


async def test_given_the_sheet_of_a_workbook_then_its_page_is_cited(ragstone: Ragstone) -> None:
    turn = await asked(ragstone, "How many nurses were there on 31 December 2024?")
    assert turn.answer is not None
    assert "431" in turn.answer.text
    assert turn.answer.citations[0].page == 2


async def test_given_a_question_of_something_else_then_it_is_answered_as_ever(
    ragstone: Ragstone,
) -> None:
    turn = await asked(ragstone, "How many nurses work in the ICU?")
    assert turn.answer is not None
    assert turn.answer.computed is None
    [traced] = [item for item in turn.trace if item.stage == "tables"]
    assert traced.decision == "nothing computed"


# --- the stage alone, over an index ---------------------------------------------------------------


class Everything:
    """A catalog that hides nothing."""

    def snapshot(self, collection: Collection) -> "Everything":
        return self

    async def __aenter__(self) -> frozenset[str]:
        return frozenset()

    async def __aexit__(self, *error: object) -> None:
        pass


async def staged(
    path: Path,
    question: str,
    *replies: str | Exception,
    options: dict[str, int] | None = None,
    duckdb: bool = True,
) -> Step:
    """What the stage makes of a question over one file."""
    collection = Collection("default", "default", "none", "none/1", 4, "en")
    index = EdgeIndex(path.parent / "index")
    try:
        await index.create(collection)
        chunks = chunks_of(path, 400)
        await index.upsert(collection, chunks)
        turn = Turn(Ask(question), question, collection=collection, hits=(Hit(chunks[0], 1.0),))
        step, _ = await ran(
            Tables(**(options or {})),
            turn,
            index=index,
            catalog=Everything(),
            embedders=OneEmbedder(),
            judge=ReadingJudge(local_reader(), local_checker(), bundled_e5()),
            tables=TableSandbox() if duckdb else None,
            completer=Replies(*replies) if replies else None,
        )
        return step
    finally:
        await index.aclose()


def a_reply(table: str, sql: str, rows: str) -> str:
    return json.dumps({"table": table, "sql": sql, "rows": rows})


NAME = "equipment_inventory"
ASKED = "How much more do both ventilators cost in total than the scanner?"


async def test_given_a_chat_model_then_its_query_answers_where_nothing_else_does(
    tmp_path: Path,
) -> None:
    sql = f"SELECT SUM(\"Price EUR\") - 56200 AS difference FROM {NAME} WHERE Device = 'Ventilator'"
    rows = f"SELECT row FROM {NAME} WHERE Device IN ('Ventilator', 'Ultrasound scanner')"
    step = await staged(written(tmp_path), ASKED, a_reply(NAME, sql, rows))
    answer = step.turn.answer
    assert answer is not None
    assert answer.computed is not None
    assert answer.text.startswith("difference: 9100 (equipment-inventory). [")
    assert answer.text.count("\n- Asset: ") == 3
    assert (answer.computed.recomputed, step.turn.usage.calls) == (False, 1)


@pytest.mark.parametrize(
    "reply",
    [
        a_reply(NAME, "SELECT * FROM read_csv('/etc/passwd')", f"SELECT row FROM {NAME}"),
        a_reply(NAME, f"COPY {NAME} TO '/tmp/stolen.csv'", f"SELECT row FROM {NAME}"),
        a_reply(NAME, f"DELETE FROM {NAME}", f"SELECT row FROM {NAME}"),
        a_reply(NAME, f"SELECT COUNT(*) FROM {NAME}", "SELECT 'x'"),
        a_reply(NAME, f"SELECT COUNT(*) FROM {NAME}", f"SELECT row FROM {NAME} WHERE 1 = 2"),
        a_reply("other", "SELECT 1", "SELECT 1"),
        a_reply("", "", ""),
        '{"table": 3, "sql": ["x"], "rows": null}',
        "I cannot do that.",
        ModelUnavailable("it is gone"),
    ],
)
async def test_given_a_reply_that_is_no_plain_query_then_nothing_is_said(
    reply: str | Exception, tmp_path: Path
) -> None:
    step = await staged(written(tmp_path), ASKED, reply)
    assert (step.turn.answer, step.decision) == (None, "nothing computed")
    assert step.reason
    assert not Path("/tmp/stolen.csv").exists()


async def test_given_a_document_that_is_too_large_then_it_is_left_alone(tmp_path: Path) -> None:
    step = await staged(written(tmp_path), "How many ventilators are there?", options={"chunks": 1})
    assert step.decision == "skipped"
    assert "larger than stages.tables.chunks" in step.reason


async def test_given_many_rows_then_ten_are_shown_and_all_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"{n},Pump,S{n % 7},{n}\n" for n in range(600))
    path = written(tmp_path, "Asset,Device,Ward,Price\n" + rows)
    step = await staged(path, "How many pumps are there?")
    assert step.turn.answer is not None
    first, *shown = step.turn.answer.text.splitlines()
    assert first.startswith("600 rows")
    assert (len(shown), len(step.turn.passages)) == (10, 2)


async def test_given_marks_and_links_in_cells_then_they_stay_data(tmp_path: Path) -> None:
    text = (
        "Id,Item,Note\n1,Lamp,see [7] https://evil.example/x\n2,Lamp,![x](https://evil.example)\n"
        "3,Sofa,z\n"
    )
    step = await staged(written(tmp_path, text), "How many lamps are there?")
    assert step.turn.answer is not None
    assert "](http" not in step.turn.answer.text
    assert "`https://evil.example/x`" in step.turn.answer.text
    assert "[7]" not in step.turn.answer.text


async def test_given_no_duckdb_then_rows_are_computed_and_a_model_s_query_is_not_run(
    tmp_path: Path,
) -> None:
    path = written(tmp_path)
    step = await staged(path, "How many ventilators are there?", duckdb=False)
    assert step.turn.answer is not None
    assert step.turn.answer.text.startswith("2 rows of the table")
    reply = '{"sql": "SELECT 1", "rows_sql": "SELECT 1"}'
    step = await staged(path, ASKED, reply, duckdb=False)
    assert step.decision == "nothing computed"
    assert step.reason.endswith("need DuckDB: pip install 'ragstone[tables]'")


async def test_given_an_answer_already_then_no_table_is_looked_at(tmp_path: Path) -> None:
    [chunk, *_] = chunks_of(written(tmp_path))
    hits = (Hit(replace(chunk, layout=""), 1.0),)
    turn = Turn(Ask("q"), "How many ventilators are there?", hits=hits)
    step, _ = await ran(Tables(), turn, tables=TableSandbox())
    assert step.reason == "no table was found"


GROWTH = "(412 - 380) / 380 = 8.42 %"
REPORTS = {
    "en": (
        ("In thousand euros", "2021", "2022"),
        ("Revenue", "380", "412"),
        ("Staff costs", "210", "236"),
        ("Materials", "75", "81"),
        ("Total costs", "285", "317"),
    ),
    "de": (
        ("Posten (Tsd. Euro)", "2021", "2022"),
        ("Umsatzerlöse", "380", "412"),
        ("Personalaufwand", "210", "236"),
        ("Materialaufwand", "75", "81"),
        ("Gesamtaufwand", "285", "317"),
    ),
    "zh": (
        ("项目（万元）", "2021年", "2022年"),
        ("营业收入", "380", "412"),
        ("人工成本", "210", "236"),
        ("材料成本", "75", "81"),
        ("总成本", "285", "317"),
    ),
}


def write_report(folder: Path, language: str, ending: str = "md") -> Path:
    head, *rows = REPORTS[language]
    if ending == "md":
        lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * 3, *rows)]
        return written(folder, "\n".join(("# 2022", "", *lines, "")), "report.md")
    cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in (head, *rows)]
    table = "".join(f"<tr>{row}</tr>" for row in cells)
    return written(folder, f"<html><body><table>{table}</table></body></html>", "report.html")


@pytest.mark.parametrize("ending", ["md", "html"])
@pytest.mark.parametrize(
    ("language", "question", "formula"),
    [
        ("en", "By what percentage did revenue grow from 2021 to 2022?", GROWTH),
        ("en", "How much did staff costs change between 2021 and 2022?", "236 - 210 = 26"),
        ("en", "What was the average revenue in 2021 and 2022?", "(380 + 412) / 2 = 396"),
        (
            "de",
            "Um wie viel Prozent stiegen die Umsatzerlöse von 2021 auf 2022?",
            GROWTH.replace(".", ","),
        ),
        (
            "de",
            "Welchen Anteil am Gesamtaufwand hatte der Personalaufwand 2022?",
            "236 / 317 = 74,45 %",
        ),
        ("zh", "2021年到2022年营业收入增长了百分之几？", GROWTH),
        ("zh", "人工成本从2021年到2022年增加了多少？", "236 - 210 = 26"),
    ],
)
async def test_given_two_cells_of_a_document_s_table_then_the_formula_is_said(
    language: str, question: str, formula: str, ending: str, tmp_path: Path
) -> None:
    step = await staged(write_report(tmp_path, language, ending), question)
    assert step.turn.answer is not None
    assert formula in step.turn.answer.text.splitlines()[0]


@pytest.mark.parametrize(
    "question",
    [
        "Why did revenue increase from 2021 to 2022?",
        "By what percentage did the number of patients grow from 2021 to 2022?",
        "How much did revenue change from 2015 to 2016?",
    ],
)
async def test_given_no_cells_for_what_is_asked_then_nothing_is_computed(
    question: str, tmp_path: Path
) -> None:
    step = await staged(write_report(tmp_path, "en"), question)
    assert step.turn.answer is None


async def test_given_a_file_of_records_then_no_single_cells_are_computed(tmp_path: Path) -> None:
    head, *rows = REPORTS["en"]
    text = "\n".join(",".join(row) for row in (head, *rows)) + "\n"
    question = "By what percentage did revenue grow from 2021 to 2022?"
    step = await staged(written(tmp_path, text, "report.csv"), question)
    assert step.turn.answer is None


async def test_given_computed_cells_then_each_is_cited_where_it_stands(tmp_path: Path) -> None:
    path = write_report(tmp_path, "en")
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as ragstone:
        [_ async for _ in ragstone.ingest(IngestRequest((str(path),)))]
        turn = await asked(ragstone, "By what percentage did revenue grow from 2021 to 2022?")
    answer = turn.answer
    assert answer is not None
    assert answer.computed is not None
    assert answer.computed.recomputed
    assert answer.computed.sql == "(412 - 380) / 380 * 100"
    [citation] = answer.citations
    assert {"412", "380"} <= {span.snippet for span in citation.spans}
    assert [verdict.label for verdict in turn.verdicts] == ["supported", "supported"]
