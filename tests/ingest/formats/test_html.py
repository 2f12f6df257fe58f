"""Reading HTML pages."""

from pathlib import Path

import pytest

from ragstone.core.errors import EmptyDocument
from ragstone.ingest.document import Block
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings

SETTINGS = IngestSettings()
PAGE = """<!DOCTYPE html><html lang="en"><head><title>Leave &amp; travel - Example</title>
<script>alert("SCRIPT")</script><style>p { color: red }</style></head><body>
<nav><a href="/">Home</a> <a href="/x">Products</a></nav>
<main><h1>Leave policy</h1>
<p>Employees get <b>30 days</b> of leave per year, which is more than the law asks&nbsp;for.</p>
<h2>Details</h2><ul><li>one item</li><li>two items</li></ul>
<table><tr><th>Name</th><th>Days</th></tr><tr><td>Ann</td><td>30</td></tr></table>
<pre>x = 1
y = 2</pre>
<p>After the table there is another paragraph, with <a href="http://x">a link</a> inside.</p>
</main><footer>Imprint and privacy</footer></body></html>"""


def write(tmp_path: Path, source: str) -> Path:
    path = tmp_path / "a.html"
    path.write_text(source)
    return path


def test_given_a_page_when_read_then_its_main_text_and_structure_are_kept(tmp_path: Path) -> None:
    parsed = parse(write(tmp_path, PAGE), SETTINGS)
    assert parsed.title == "Leave & travel - Example"
    assert (parsed.media_type, parsed.metadata) == ("text/html", {"language": "en"})
    assert list(parsed.blocks) == [
        Block("Leave policy", "heading", 1),
        Block("Employees get 30 days of leave per year, which is more than the law asks for."),
        Block("Details", "heading", 2),
        Block("- one item", "item", 1, label="-"),
        Block("- two items", "item", 1, label="-"),
        Block("Name: Ann; Days: 30", "table"),
        Block("x = 1\ny = 2", "code"),
        Block("After the table there is another paragraph, with a link inside."),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "<p>Short.</p>",
        "Just text",
        "<div>Short.<br>Text</div>",
        "<div><div><span>Short.</span></div></div><table><tr><td>Cell</td></tr></table>",
        "<h1>Only a heading</h1>",
        "<ul><li>Item <ul><li>Inner</li></ul></li></ul>",
        "<p>unclosed <b>tags <div>everywhere",
    ],
)
def test_given_a_page_without_an_article_when_read_then_all_visible_text_is_there(
    tmp_path: Path, source: str
) -> None:
    text = " ".join(b.text for b in parse(write(tmp_path, source), SETTINGS).blocks)
    for word in ("Short.", "Text", "text", "Cell", "heading", "Item", "Inner", "everywhere"):
        assert (word in text) == (word in source)


def test_given_an_article_that_nothing_marks_when_read_then_the_menu_is_left_out(
    tmp_path: Path,
) -> None:
    menu = "".join(f'<li><a href="/{n}">Menu entry {n}</a></li>' for n in range(30))
    prose = "".join(f"<p>{'This sentence tells of a policy. ' * 8} ({n})</p>" for n in range(8))
    source = f'<body><div class="menu"><ul>{menu}</ul></div><div><h2>Rules</h2>{prose}</div></body>'
    text = " ".join(b.text for b in parse(write(tmp_path, source), SETTINGS).blocks)
    assert "(0)" in text
    assert "(7)" in text
    assert "Menu entry 7" not in text


MENU = "".join(f'<li><a href="/{n}">Menu entry {n}</a></li>' for n in range(30))
WORDS = [f"Rule {n} tells whoever reads the manual what a careful driver does. " for n in range(40)]
PROSE = [f"<p>{''.join(WORDS[5 * n : 5 * n + 5])}</p>" for n in range(8)]


def read_article(tmp_path: Path, amid: str, after: str = "") -> list[str]:
    """The blocks of a page whose main part nothing marks."""
    text = f"{''.join(PROSE[:4])}{amid}{''.join(PROSE[4:])}"
    source = f"<body><div class='menu'><ul>{MENU}</ul></div><div id='text'>{text}</div>{after}"
    return [block.text for block in parse(write(tmp_path, source), SETTINGS).blocks]


PLACES = "<a id='i1'></a><a id='i2'></a><a id='i3'></a><a id='i4'></a><a id='i5'></a>"
BOXED = "The lever under the seat opens the tank of the car."


@pytest.mark.parametrize(
    "box",
    [
        f"<div class='sidebar'><p class='title'><b>NOTE</b> Fuel</p><div>{BOXED}</div></div>",
        f"<aside class='sidebar'><p class='sidebar-title'>Fuel</p><p>{BOXED}</p></aside>",
        f"<div class='sidebarblock'><div class='content'><p>{BOXED}</p></div></div>",
        f"{PLACES}<div class='sidebar'>{PLACES}<p>{BOXED}</p></div>{PLACES}",
        f"<section class='callout sidebar'><h3>Fuel</h3><p>{BOXED}</p></section>",
    ],
    ids=["docbook", "sphinx", "asciidoctor", "with index entries", "callout"],
)
def test_a_box_amid_the_text_of_a_manual_is_read(tmp_path: Path, box: str) -> None:
    blocks = read_article(tmp_path, box)

    assert BOXED in blocks
    assert not [text for text in blocks if "Menu entry" in text]


def test_the_sidebar_of_a_site_is_left_out(tmp_path: Path) -> None:
    beside = (
        "<div id='sidebar' class='sidebar'><h3>About me</h3><p>I like cars and trains.</p></div>"
    )

    blocks = read_article(tmp_path, "", beside + "<div id='footer'><ul><li>Imprint</li></ul></div>")

    assert not [text for text in blocks if "trains" in text]


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        (
            "<div><code>locate</code> lists only what the user may read.</div>",
            "`locate` lists only what the user may read.",
        ),
        (
            "<p><kbd>F2</kbd> renames the file that is chosen.</p>",
            "F2 renames the file that is chosen.",
        ),
        (
            "<p>选项<code>Languages</code>可以限制下载的文件，并节省更多时间。</p>",
            "选项`Languages`可以限制下载的文件，并节省更多时间。",
        ),
        (
            "<p><tt>apt</tt>は依存するパッケージも<tt>dpkg</tt>で入れます。</p>",
            "`apt`は依存するパッケージも`dpkg`で入れます。",
        ),
    ],
    ids=["code first", "key first", "code in Chinese", "code in Japanese"],
)
def test_a_paragraph_with_code_amid_the_text_is_read(
    tmp_path: Path, paragraph: str, expected: str
) -> None:
    assert expected in read_article(tmp_path, paragraph)


def test_given_scripts_when_read_then_they_are_no_text(tmp_path: Path) -> None:
    text = " ".join(b.text for b in parse(write(tmp_path, PAGE), SETTINGS).blocks)
    assert "SCRIPT" not in text
    assert "color" not in text


def test_given_an_external_entity_when_read_then_no_other_file_is_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("TOPSECRET")
    source = f'<!DOCTYPE html [<!ENTITY x SYSTEM "{secret.as_uri()}">]><p>Hello &x; there</p>'
    text = " ".join(b.text for b in parse(write(tmp_path, source), SETTINGS).blocks)
    assert "Hello" in text
    assert "TOPSECRET" not in text


def test_given_only_scripts_when_read_then_it_is_empty(tmp_path: Path) -> None:
    with pytest.raises(EmptyDocument):
        parse(write(tmp_path, "<html><script>x = 1</script></html>"), SETTINGS)


def test_given_deep_nesting_when_read_then_nothing_crashes(tmp_path: Path) -> None:
    source = "<div>" * 5000 + "Deep inside" + "</div>" * 5000
    try:
        parse(write(tmp_path, source), SETTINGS)
    except EmptyDocument:
        return


def test_given_code_inside_lines_when_read_then_it_is_between_backticks(tmp_path: Path) -> None:
    page = """<main><h1>The <code>run</code> command</h1>
    <p>Write <code>&lt;a href</code> and <tt>hl[14]</tt>, <samp>a<code>`b</code></samp>.</p>
    <p>Use<code> x </code><code>.y</code> or <code>one<br>two</code> and <kbd>Enter</kbd>.</p>
    <table><tr><th><code>Name</code></th><th>Days</th></tr>
    <tr><td><code>--for`ce</code></td><td>30</td></tr></table>
    <dl><dt><code>-v</code></dt><dd>Says more.</dd></dl></main>"""
    assert [block.text for block in parse(write(tmp_path, page), SETTINGS).blocks] == [
        "The run command",
        "Write `<a href` and `hl[14]`, ``a`b``.",
        "Use `x .y` or `one`\n`two` and Enter.",
        "Name: ``--for`ce``; Days: 30",
        "`-v`: Says more.",
    ]


TEXT = "The notice period is four weeks, and it begins on the first day of the next month. " * 3


@pytest.mark.parametrize(
    "part",
    [
        f"<div class='related-to-my-size'><p>{TEXT}</p></div>",
        f"<div id='skiplink-content'><p>{TEXT}</p></div>",
        f"<noscript><p>{TEXT}</p></noscript><script>show()</script>",
        f"<form action='/page.aspx'><p>{TEXT}</p></form>",
        f"<aside><p>{TEXT}</p></aside>",
    ],
)
def test_given_the_text_in_a_part_with_another_name_when_read_then_it_is_there(
    tmp_path: Path, part: str
) -> None:
    page = f"<html><body><nav><a href='/'>Home</a></nav>{part}</body></html>"
    blocks = list(parse(write(tmp_path, page), IngestSettings()).blocks)
    assert [block.text for block in blocks] == [TEXT.strip()]


def test_given_a_section_whose_anchor_has_a_menus_name_when_read_then_it_is_there(
    tmp_path: Path,
) -> None:
    page = (
        f"<html><body><main><h1>Bugs</h1><p>{TEXT}</p><p>{TEXT}</p>"
        "<section id='handling-security-related-bugs'><h2>Security</h2><p>Tell the team.</p>"
        "</section><div class='related'><ul><li><a href='/'>index</a></li></ul></div>"
        "</main></body></html>"
    )
    blocks = list(parse(write(tmp_path, page), IngestSettings()).blocks)
    assert [block.text for block in blocks][-2:] == ["Security", "Tell the team."]


def test_given_a_page_with_more_links_than_text_when_read_then_its_menu_stays_out(
    tmp_path: Path,
) -> None:
    links = "".join(f"<li><a href='/{n}'>Something else to read, {n}</a></li>" for n in range(30))
    page = f"<html><body><p>{TEXT}</p><div class='related'><ul>{links}</ul></div></body></html>"
    blocks = list(parse(write(tmp_path, page), IngestSettings()).blocks)
    assert [block.text for block in blocks] == [TEXT.strip()]


def test_given_equal_cells_when_read_then_only_what_is_merged_is_one(tmp_path: Path) -> None:
    page = (
        "<html><body><main><table><tr><th>Monday</th><th>Tuesday</th></tr>"
        "<tr><td>closed</td><td>closed</td></tr><tr><td colspan=2>Holidays</td></tr>"
        "</table></main></body></html>"
    )
    (table,) = parse(write(tmp_path, page), IngestSettings()).blocks
    assert table.text == "Monday: closed; Tuesday: closed\nHolidays"


@pytest.mark.parametrize(
    ("corner", "line"), [("Period (s)", "Period (s): 30; Width: 217"), ("", "30; Width: 217")]
)
def test_given_a_column_that_names_the_rows_when_read_then_its_own_name_is_kept(
    tmp_path: Path, corner: str, line: str
) -> None:
    page = (
        f"<html><body><main><table><tr><th>{corner}</th><th>Width</th></tr>"
        "<tr><th>15</th><td>433</td></tr><tr><th>30</th><td>217</td></tr></table></main></body></html>"
    )
    (table,) = parse(write(tmp_path, page), IngestSettings()).blocks
    assert table.text.splitlines()[1] == line


def a_table(tmp_path: Path, head: str, *rows: str) -> list[str]:
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    page = f"<main><h1>T</h1><table><thead>{head}</thead><tbody>{body}</tbody></table></main>"
    path = write(tmp_path, f"<html><body>{page}</body></html>")
    [table] = [block for block in parse(path, SETTINGS).blocks if block.kind == "table"]
    return table.text.splitlines()


@pytest.mark.parametrize(
    ("first", "under"),
    [("", "&nbsp;&nbsp;"), (' style="padding-left: 1em"', "")],
)
def test_given_indented_rows_when_read_then_they_carry_the_label_above(
    tmp_path: Path, first: str, under: str
) -> None:
    rows = a_table(
        tmp_path,
        "<tr><th></th><th>A: IFL (N=4)</th><th>p value:</th></tr>",
        "<td>Age</td><td></td><td>0.6</td>",
        f"<td{first}>{under}Mean (SD)</td><td>59.7 (11.4)</td><td></td>",
        f"<td{first}>{under}Range</td><td>27 - 88</td><td></td>",
        "<td>Sex</td><td></td><td>0.2</td>",
        f"<td{first}>{under}Male</td><td>12 (64.7%)</td><td></td>",
    )
    assert rows == [
        "Age; p value: 0.6",
        "Age > Mean (SD); A:IFL (N=4): 59.7 (11.4)",
        "Age > Range; A:IFL (N=4): 27 - 88",
        "Sex; p value: 0.2",
        "Sex > Male; A:IFL (N=4): 12 (64.7%)",
    ]


def test_given_rows_below_one_that_is_merged_when_read_then_they_carry_its_label(
    tmp_path: Path,
) -> None:
    rows = a_table(
        tmp_path,
        "<tr><th></th><th>2019</th><th>2020</th></tr>",
        '<td colspan="3">Assets</td>',
        "<td>Cash</td><td>5</td><td>7</td>",
        '<td colspan="3">Debts</td>',
        "<td>Loans</td><td>3</td><td>2</td>",
    )
    assert rows == [
        "Assets",
        "Assets > Cash; 2019: 5; 2020: 7",
        "Debts",
        "Debts > Loans; 2019: 3; 2020: 2",
    ]


GROUPED = (
    "<td>IFL</td><td>M</td><td>0</td><td>29</td>",
    "<td></td><td></td><td>1</td><td>214</td>",
    "<td></td><td>F</td><td>0</td><td>12</td>",
    "<td></td><td></td><td>1</td><td>118</td>",
    "<td>IROX</td><td>M</td><td>0</td><td>17</td>",
)


def test_given_groups_that_are_said_once_when_read_then_each_row_has_them(tmp_path: Path) -> None:
    head = "<tr><th>arm</th><th>sex</th><th>level</th><th>Freq</th></tr>"
    assert a_table(tmp_path, head, *GROUPED) == [
        "arm: IFL; sex: M; level: 0; Freq: 29",
        "arm: IFL; sex: M; level: 1; Freq: 214",
        "arm: IFL; sex: F; level: 0; Freq: 12",
        "arm: IFL; sex: F; level: 1; Freq: 118",
        "arm: IROX; sex: M; level: 0; Freq: 17",
    ]


def test_given_empty_first_cells_that_are_no_groups_when_read_then_they_stay_empty(
    tmp_path: Path,
) -> None:
    rows = a_table(
        tmp_path,
        "<tr><th>phone</th><th>name</th><th>days</th></tr>",
        "<td>home</td><td>Ann</td><td>3</td>",
        "<td></td><td>Bob</td><td>4</td>",
        "<td>home</td><td>Cem</td><td>5</td>",
        "<td></td><td>Dan</td><td></td>",
    )
    assert rows[1] == "name: Bob; days: 4"


TOWN = "".join(
    f"<p>Paragraph {n} tells about the tram of the town and how its lines grew in {1900 + n}.</p>"
    for n in range(8)
)
ROWS = "<tr><th>Zone</th><th>Fare</th></tr><tr><td>A</td><td>2.40</td></tr>"
FARES = f"<h2>Fares</h2><table>{ROWS}</table>"


@pytest.mark.parametrize("page", [FARES + TOWN, TOWN + FARES, TOWN + FARES + TOWN])
def test_a_table_stays_wherever_it_stands_on_a_page_without_marks(
    tmp_path: Path, page: str
) -> None:
    source = f"<html><body><h1>Tram</h1>{page}</body></html>"
    found = list(parse(write(tmp_path, source), SETTINGS).blocks)
    texts = [block.text for block in found]
    assert "Zone: A; Fare: 2.40" in texts
    assert texts[texts.index("Zone: A; Fare: 2.40") - 1] == "Fares"


def test_a_list_between_paragraphs_stays(tmp_path: Path) -> None:
    items = "<ul><li>Tram</li><li>Bus</li><li>Ferry</li></ul>"
    source = f"<html><body><h1>Tram</h1>{TOWN}{items}{TOWN}</body></html>"
    found = list(parse(write(tmp_path, source), SETTINGS).blocks)
    assert [block.text for block in found if block.kind == "item"] == ["- Tram", "- Bus", "- Ferry"]


@pytest.mark.parametrize("kind", ["checkbox", "radio"])
def test_boxes_show_whether_they_are_ticked(tmp_path: Path, kind: str) -> None:
    page = tmp_path / "a.html"
    page.write_text(
        f"""<html><body><main><h1>Breakfast</h1><p>What the guest of room 12 has chosen.</p>
        <ul><li><input type="{kind}" checked> Tea</li><li><label><input type="{kind}"> Milk</label>
        </li></ul><p><input type="{kind}" checked="checked">Bread</p></main></body></html>""",
        encoding="utf-8",
    )

    texts = [block.text for block in parse(page, IngestSettings()).blocks]

    assert texts[2:] == ["- ☒ Tea", "- ☐ Milk", "☒ Bread"]


FIELDS = """<p><label>Name <input name="n" value="Johan Berg"></label></p>
<p><label>Country <select><option>Norway<option selected>Sweden</select></label></p>
<p><label>When <textarea>In the morning.</textarea></label> <input type="hidden" value="x1"></p>
<p><label>Code <input type="password" value="x2"></label></p>
<p><button value="x3">Send</button></p>"""


def test_what_is_filled_in_on_a_page_stands_behind_its_label(tmp_path: Path) -> None:
    page = f"<html><body><main><h1>Fair</h1><p>{TEXT}</p><form>{FIELDS}</form></main></body></html>"
    texts = [block.text for block in parse(write(tmp_path, page), SETTINGS).blocks]
    assert texts[2:] == ["Name Johan Berg", "Country Sweden", "When In the morning.", "Code"]


@pytest.mark.parametrize(
    "form",
    [
        "<form><input value='Search'><select><option selected>English</select></form>",
        "<form><p>Our newsletter</p><input type='email'><input type='checkbox' checked> Yes</form>",
        "<form><p>Name <input value=''></p><p>Password <input type='password'></p></form>",
    ],
)
def test_a_form_that_waits_for_visitors_is_left_out(tmp_path: Path, form: str) -> None:
    page = f"<html><body><main><h1>Fair</h1><p>{TEXT}</p>{form}<p>{TEXT}</p></main></body></html>"
    texts = [block.text for block in parse(write(tmp_path, page), SETTINGS).blocks]
    assert texts == ["Fair", TEXT.strip(), TEXT.strip()]


def test_a_page_that_is_one_form_keeps_its_tables(tmp_path: Path) -> None:
    table = "<table><tr><th>Line</th><th>Price</th></tr><tr><td>North</td><td>12</td></tr></table>"
    hidden = "<input type='hidden' value='x1'>"
    page = f"<html><body><form>{hidden}<h3>Fares</h3><p>{TEXT}</p>{table}</form></body></html>"
    texts = [block.text for block in parse(write(tmp_path, page), SETTINGS).blocks]
    assert texts == ["Fares", TEXT.strip(), "Line: North; Price: 12"]


def test_given_a_heading_of_a_picture_alone_then_it_does_not_name_the_page(tmp_path: Path) -> None:
    head = '<h1><img src="l.png" alt="The house logo"></h1>'
    page = f"<html><body><main>{head}<h2>Pumps</h2><p>They run.</p></main></body></html>"
    (tmp_path / "a.html").write_text(page)

    parsed = parse(tmp_path / "a.html", IngestSettings())

    assert parsed.title != "The house logo"
    assert ("heading", "The house logo") not in [(b.kind, b.text) for b in parsed.blocks]


def test_given_a_frame_with_its_page_in_an_attribute_then_it_is_read_in_its_place(
    tmp_path: Path,
) -> None:
    frame = '<iframe srcdoc="<p>The deposit is &lt;b&gt;8 euros&lt;/b&gt;.</p>"></iframe>'
    page = f"<p>The museum opens at nine.</p>{frame}<p>It closes at five.</p>"
    (tmp_path / "a.html").write_text(f"<html><body><main>{page}</main></body></html>")

    blocks = parse(tmp_path / "a.html", IngestSettings()).blocks

    assert [block.text for block in blocks] == [
        "The museum opens at nine.",
        "The deposit is 8 euros.",
        "It closes at five.",
    ]


@pytest.mark.parametrize("page", ["&amp;lt;", "<", "<!-- ", "\x00", "<html><body>", "<p>" * 500])
def test_given_a_frame_of_damaged_markup_then_the_page_is_read(tmp_path: Path, page: str) -> None:
    text = f'<p>The museum opens at nine.</p><iframe srcdoc="{page}"></iframe>'
    (tmp_path / "a.html").write_text(f"<html><body><main>{text}</main></body></html>")

    texts = [block.text for block in parse(tmp_path / "a.html", IngestSettings()).blocks]

    assert "The museum opens at nine." in texts


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        (
            "<tr><th>Part</th><th>Details</th></tr><tr><td>Pump</td><td><table><tr><td>Wood</td>"
            "<td>Oak</td></tr></table></td></tr><tr><td>Valve</td><td>brass</td></tr>",
            ["Part: Pump; Details: Wood Oak", "Part: Valve; Details: brass"],
        ),
        (
            "<tfoot><tr><td>Total</td><td>9</td></tr></tfoot><thead><tr><th>Item</th><th>Count</th>"
            "</tr></thead><tbody><tr><td>Rope</td><td>4</td></tr></tbody>",
            ["Item: Rope; Count: 4", "Item: Total; Count: 9"],
        ),
        (
            "<tr><th>Name</th><th>Age</th></tr><tr><th colspan=2>Crew</th></tr>"
            "<tr><td>Olsen</td><td>41</td></tr>",
            ["Crew", "Name: Olsen; Age: 41"],
        ),
        (
            "<tr><th colspan=2>Mill</th></tr><tr><th>Built</th><td>1931</td></tr>"
            "<tr><th>Owner:</th><td>Parish</td></tr>",
            ["Mill", "Built: 1931", "Owner: Parish"],
        ),
        (
            "<tr><th>Zone</th><th>Fare</th></tr><tr><td>A</td><td>2.40</td></tr>"
            "<tr hidden><td>B</td><td>3.10</td></tr>",
            ["Zone: A; Fare: 2.40"],
        ),
    ],
    ids=["nested table", "foot before the body", "group", "names of rows", "hidden row"],
)
def test_a_table_is_read_as_it_is_shown(tmp_path: Path, rows: str, lines: list[str]) -> None:
    (table,) = parse(write(tmp_path, f"<table>{rows}</table>"), SETTINGS).blocks

    assert table.text.splitlines() == lines


def test_a_small_table_that_arranges_a_page_is_what_it_holds(tmp_path: Path) -> None:
    source = (
        "<main><table><tr><td>Menu</td><td><table><tr><td>a</td><td>b</td></tr></table></td></tr>"
        "<tr><td>Body</td><td>more</td></tr></table></main>"
    )

    blocks = parse(write(tmp_path, source), SETTINGS).blocks

    assert [block.text for block in blocks] == ["Menu", "a | b", "Body", "more"]


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ("<table><td><table><tr><td>Fee<td>12</table></td></table>", "Fee | 12"),
        ("<table><table><tr><td>Fee<td>12</table></table>", "Fee | 12"),
        ("<table><td>Fee</td><td>12</td></table>", "Fee | 12"),
        (
            "<table><tr><th>Item<th>Fee</tr><tbody><td>Pen</td><td>12</td></tbody></table>",
            "Item: Pen; Fee: 12",
        ),
    ],
    ids=["around another one", "directly in another one", "a line", "below a head"],
)
def test_cells_without_a_row_are_read_as_browsers_show_them(
    table: str, shown: str, tmp_path: Path
) -> None:
    page = write(tmp_path, f"<p>Before it.</p>{table}<p>After it.</p>")

    texts = [block.text for block in parse(page, SETTINGS).blocks]

    assert texts == ["Before it.", shown, "After it."]


@pytest.mark.parametrize(
    ("table", "lines"),
    [
        ("Prices for 2025<tr><td>Fee</td><td>40</td></tr>", ["Prices for 2025", "Fee | 40"]),
        ("<tr><td>Fee</td><td>40</td></tr>in <b>euros</b>", ["in euros", "Fee | 40"]),
        ("<tbody><tr>Adults<td>Fee</td><td>40</td></tr></tbody>", ["Adults", "Fee | 40"]),
        ("<p>From May.</p><tr><td>Fee</td><td>40</td></tr>", ["From May.", "Fee | 40"]),
        ("<tr><td>Fee</td><td>40</td></tr><br>\n", ["Fee | 40"]),
    ],
    ids=["at its start", "at its end", "in a row", "a paragraph", "nothing but a break"],
)
def test_words_in_a_table_but_in_no_cell_stand_before_it(
    tmp_path: Path, table: str, lines: list[str]
) -> None:
    path = write(tmp_path, f"<html><body><main><table>{table}</table></main></body></html>")
    parsed = parse(path, IngestSettings())
    assert [line for block in parsed.blocks for line in block.text.split("\n")] == lines


def test_words_of_a_table_in_a_table_stand_before_both(tmp_path: Path) -> None:
    inner = "<table>Members pay less.<tr><td>Club</td><td>30</td></tr></table>"
    path = write(tmp_path, f"<main><table><tr><td>Fee</td><td>40</td></tr>{inner}</table></main>")
    text = "\n".join(block.text for block in parse(path, IngestSettings()).blocks)
    assert text.startswith("Members pay less.\n")
    assert "40" in text
    assert "30" in text
