"""Files that are made to take a machine down, each of a few kilobytes or megabytes."""

import zipfile
import zlib
from pathlib import Path


def _pdf(objects: list[bytes]) -> bytes:
    """A PDF of these objects, numbered from 1; the first one is the catalog."""
    data, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (size, table, size, len(data))
    )


def _stream(facts: bytes, content: bytes) -> bytes:
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (facts, len(content), content)


def nested_forms(folder: Path, depth: int = 12, times: int = 10) -> Path:
    """A PDF whose page draws a form that draws another one ten times, and so on."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /XObject << /F 6 0 R >> /Font << /A 5 0 R >> >> >>",
        _stream(b"", b"/F Do " * times),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for level in range(depth):
        last = level == depth - 1
        content = b"BT /A 12 Tf 72 700 Td (Words) Tj ET" if last else b"/F Do " * times
        inner = b"" if last else b"/XObject << /F %d 0 R >>" % (len(objects) + 2)
        objects.append(
            _stream(
                b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] "
                b"/Resources << /Font << /A 5 0 R >> %s >>" % inner,
                content,
            )
        )
    file = folder / "nested.pdf"
    file.write_bytes(_pdf(objects))
    return file


def inflating_stream(folder: Path, megabytes: int = 1600) -> Path:
    """A PDF whose page inflates to 1.6 GB."""
    packer = zlib.compressobj(9)
    block = b"BT /A 12 Tf 72 700 Td (Words) Tj ET\n" * 29_000
    first, next_one = (packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    packed = first + next_one * megabytes + packer.flush()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /A 5 0 R >> >> >>",
        _stream(b"/Filter /FlateDecode", packed),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    file = folder / "inflating.pdf"
    file.write_bytes(_pdf(objects))
    return file


def many_attributes(folder: Path, number: int = 40_000) -> Path:
    """A page with one element of 40,000 attributes, each of which is compared with all before."""
    attributes = " ".join(f"a{index}=1" for index in range(number))
    return _written(folder, "attributes.html", f"<html><body><p {attributes}>Words.</p>")


def deep_elements(folder: Path, depth: int = 100_000) -> Path:
    return _written(folder, "deep.html", "<html><body>" + "<div>" * depth + "Words.")


def deep_json(folder: Path, depth: int = 100_000) -> Path:
    return _written(folder, "deep.json", "[" * depth + '"Words."' + "]" * depth)


def long_line(folder: Path, megabytes: int = 100) -> Path:
    """A table whose only line has 100 MB."""
    file = folder / "line.csv"
    with file.open("w") as target:
        for _ in range(megabytes):
            target.write("word," * 200_000)
    return file


def long_word(folder: Path, length: int = 19_000) -> Path:
    return _written(folder, "word.txt", f"Before. {'W' * length} After.")


def dots(folder: Path, length: int = 1_000_000) -> Path:
    return _written(folder, "dots.txt", "." * length)


def letters(folder: Path, length: int = 1_000_000) -> Path:
    return _written(folder, "letters.md", "a" * length)


def zip_bomb(folder: Path, megabytes: int = 512) -> Path:
    """A text document of half a megabyte that unpacks to 512 MB."""
    file = folder / "bomb.docx"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("word/document.xml", "w", force_zip64=True) as part:
            for _ in range(megabytes // 16):
                part.write(bytes(16 << 20))
    return file


def _written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file
