"""Mails: what is new, what is quoted, and what is attached."""

from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import TooLarge, WrongType
from ragstone.ingest.document import Block
from ragstone.ingest.formats.mail import parse_mbox
from ragstone.ingest.formats.plain_mail import plain_blocks
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.office_files import docx


def mail(text: str = "Hello", **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Ann Lee <ann@example.org>"
    message["Subject"] = "Lift 3"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return message


def read(path: Path, message: EmailMessage) -> list[Block]:
    (path / "a.eml").write_bytes(message.as_bytes())
    return list(parse(path / "a.eml", IngestSettings()).blocks)


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.label or block.kind, block.text) for block in plain_blocks(text)]


def test_given_quoted_lines_when_read_then_they_are_apart_from_what_is_new() -> None:
    text = "Yes, at ten.\n\nOn 12 June Bo wrote:\n> Shall we meet?\n> \n>> Earlier.\n\nSee you.\n"
    assert kinds(text) == [
        ("paragraph", "Yes, at ten."),
        ("quote", "On 12 June Bo wrote:"),
        ("quote", "Shall we meet?"),
        ("quote", "Earlier."),
        ("paragraph", "See you."),
    ]


@pytest.mark.parametrize(
    "head",
    [
        "-----Original Message-----",
        "From: Bo\nSent: Monday\nTo: Ann\nSubject: Lift",
        "Von: Bo\nGesendet: Montag\nAn: Ann\nBetreff: Aufzug",
    ],
)
def test_given_a_whole_mail_below_when_read_then_all_of_it_is_quoted(head: str) -> None:
    found = kinds(f"Fine.\n\n{head}\n\nShall we?\n\nBo")
    assert found[0] == ("paragraph", "Fine.")
    assert {kind for kind, _ in found[1:]} == {"quote"}


def test_given_a_signature_and_a_list_when_read_then_both_are_known() -> None:
    text = "Please:\n- call\n- write\n\n-- \nAnn Lee\nRoom 4\n"
    assert kinds(text) == [
        ("paragraph", "Please:"),
        ("-", "- call"),
        ("-", "- write"),
        ("signature", "Ann Lee\nRoom 4"),
    ]


def test_given_lines_that_a_program_broke_when_read_then_they_go_on() -> None:
    long = "The gearbox has to be replaced; the part arrives on Wednesday,"
    assert kinds(f"{long}\nwe expect.\nAnn") == [("paragraph", f"{long} we expect.\nAnn")]


@given(st.text(alphabet="ab >-:\n", max_size=80))
def test_no_word_of_a_mail_is_lost(text: str) -> None:
    found = "".join(block.text for block in plain_blocks(text))
    assert sorted(c for c in found if c in "ab") == sorted(c for c in text if c in "ab")


def test_given_a_mail_when_read_then_its_thread_is_metadata(tmp_path: Path) -> None:
    message = mail(
        To="Bo <bo@example.org>, c@example.org",
        Date="Mon, 19 May 2025 07:42:00 +0200",
        Message_ID="<3@x>",
        In_Reply_To="<2@x>",
        References="<1@x> <2@x>",
    )
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    parsed = parse(tmp_path / "a.eml", IngestSettings())
    assert parsed.metadata == {
        "author": "Ann Lee <ann@example.org>",
        "to": "Bo <bo@example.org>, c@example.org",
        "created": "2025-05-19T07:42:00+02:00",
        "message_id": "<3@x>",
        "in_reply_to": "<2@x>",
        "references": ["<1@x>", "<2@x>"],
        "thread": "<1@x>",
    }
    assert [block.kind for block in parsed.blocks] == ["heading", "header", "paragraph"]


def test_given_only_html_when_read_then_it_is_read_as_a_page(tmp_path: Path) -> None:
    message = mail()
    message.set_content("<p>Beds go by <b>lift 5</b>.</p><ul><li>now</li></ul>", subtype="html")
    found = read(tmp_path, message)[2:]
    assert found[0] == Block("Beds go by lift 5.")
    assert "now" in found[1].text


def test_given_attachments_when_read_then_each_is_a_section(tmp_path: Path) -> None:
    message = mail("See below.")
    office = docx(tmp_path / "plan.docx", [("Heading1", "Plan"), ("", "Step one.")])
    message.add_attachment(
        office.read_bytes(), maintype="application", subtype="x", filename="plan.docx"
    )
    message.add_attachment(b"\x00", maintype="application", subtype="x", filename="sign.p7s")
    inner = mail("Inner text.", To="d@example.org")
    message.add_attachment(inner)
    found = read(tmp_path, message)
    assert "Attachments: plan.docx, sign.p7s, Lift 3.eml" in found[1].text
    assert [(block.text, block.level) for block in found if block.kind == "heading"] == [
        ("Lift 3", 1),
        ("plan.docx", 2),
        ("Plan", 3),
        ("Lift 3.eml", 2),
        ("Lift 3", 3),
    ]
    assert {"Step one.", "Inner text."} <= {block.text for block in found}


def test_attachments_that_cannot_be_read_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    message = mail("See below.")
    for data, name in ((b"PK", "../../b.docx"), (b"1", "disk.vhd"), (b"GIF8", "logo.gif")):
        message.add_attachment(data, maintype="application", subtype="x", filename=name)
    (tmp_path / "a.eml").write_bytes(message.as_bytes())

    parsed = parse(tmp_path / "a.eml", IngestSettings())

    assert [block.text for block in parsed.blocks][-1] == "See below."
    damaged, unknown = parsed.last_notes()
    assert damaged.startswith("b.docx is left out: b.docx ends in .docx, but")
    assert unknown == "disk.vhd is left out: files of its type (.vhd) cannot be read."


def test_given_mails_in_mails_without_end_when_read_then_it_stops(tmp_path: Path) -> None:
    message = mail("innermost")
    for number in range(6):
        outer = mail(f"level {number}")
        outer.add_attachment(message)
        message = outer
    texts = [block.text for block in read(tmp_path, message)]
    assert "level 3" in texts
    assert "level 2" not in texts


@pytest.mark.parametrize(
    "data",
    [
        b"From: a\nContent-Type: multipart/mixed; boundary=x\n\nno parts",
        b"From: a\nContent-Type: text/plain; charset=none-such\n\nh\xe9llo",
        b"From: =?utf-8?b?????=\nDate: never\nContent-Transfer-Encoding: base64\n\n!!!!",
        b"Subject: x\nTo: @@,;<>:\nContent-Type: ;;;\n\ntext",
        b"Subject: " + b"=?utf-8?q?" * 300 + b"\n\ntext",
    ],
)
def test_given_odd_mails_when_read_then_nothing_breaks(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.eml").write_bytes(data)
    assert list(parse(tmp_path / "a.eml", IngestSettings()).blocks)


def test_given_a_mailbox_when_read_then_each_mail_is_a_section(tmp_path: Path) -> None:
    path = tmp_path / "box.mbox"
    mails: list[Any] = [mail("One.\n\n>From here."), mail("Two.")]
    path.write_bytes(b"".join(b"From a@b Mon\n" + item.as_bytes() + b"\n" for item in mails))
    parsed = parse(path, IngestSettings())
    assert parsed.title == "box"
    texts = [block.text for block in parsed.blocks]
    assert texts.count("Lift 3") == 2
    assert "From here." in texts
    assert texts[-1] == "Two."


def test_given_mails_of_stated_lengths_when_read_then_each_is_read_without_an_empty_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "box.mbox"
    one = b"From - \nSubject: Lift\nContent-Length: 26\n\nFrom here on it is broken.\n"
    two = b"From a@b Mon Jun  3 12:50:27 1996\nSubject: Door\n\nOiled.\n"
    path.write_bytes(one + two)
    texts = [block.text for block in parse(path, IngestSettings()).blocks]
    assert texts == ["Lift", "From here on it is broken.", "Door", "Oiled."]


def test_given_a_mail_over_the_memory_when_read_then_it_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "box.mbox"
    path.write_bytes(b"From a\nSubject: x\n\n" + b"word\n" * 1000)
    with pytest.raises(TooLarge, match="MAX_FILE_MB"):
        list(parse_mbox(path, ".mbox", 1000).blocks)
    path.write_text("Nothing")
    with pytest.raises(WrongType, match="mailbox"):
        parse(path, IngestSettings())


@pytest.mark.parametrize("before", [b"\n\r\n", b"\xef\xbb\xbf"])
def test_given_what_some_programs_write_before_a_mailbox_when_read_then_it_is_read(
    tmp_path: Path, before: bytes
) -> None:
    path = tmp_path / "box.mbox"
    path.write_bytes(
        before + b"From ann@example.org Wed Jul  1 13:17:17 1998\nSubject: Lift\n\nHi.\n"
    )
    assert [block.text for block in parse(path, IngestSettings()).blocks if "Hi" in block.text]


def test_given_a_single_mail_that_is_called_a_mailbox_when_read_then_it_is_a_mail(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.mbox").write_bytes(b"X-Mailer: some\n" + bytes(mail("Four weeks.")))
    parsed = parse(tmp_path / "a.mbox", IngestSettings())
    assert [block.text for block in parsed.blocks][-1] == "Four weeks."
    assert parsed.media_type == "message/rfc822"
    assert parsed.metadata["author"]


@pytest.mark.parametrize("text", ["Only some words.\n", "Note: no mail\nat all\n"])
def test_given_a_text_that_is_called_a_mailbox_when_read_then_it_is_refused(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "a.mbox").write_text(text, encoding="utf-8")
    with pytest.raises(WrongType, match="does not begin as a mailbox does"):
        parse(tmp_path / "a.mbox", IngestSettings())


def test_given_a_single_mail_over_the_memory_when_read_then_it_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "a.mbox").write_bytes(bytes(mail("x" * 5000)))
    with pytest.raises(TooLarge, match="a single mail"):
        parse_mbox(tmp_path / "a.mbox", ".mbox", 1000)
