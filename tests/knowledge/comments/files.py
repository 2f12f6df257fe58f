"""Tables of customers' comments, as the parsers read them and the pipeline cuts them."""

from pathlib import Path

from openpyxl import Workbook

ROWS = (
    ("2024-01-09", "Echo", 5, "Crisp, rich sound and the bass is wonderful."),
    ("2024-01-15", "Echo", 1, "The parcel arrived three weeks late and nobody told me why."),
    ("2024-01-22", "Nova", 2, "Battery is empty after two hours, useless on a train."),
    ("2024-02-03", "Nova", 4, "Sound quality is great for the price."),
    ("2024-02-11", "Echo", 2, "Delivery took a whole month, far too slow."),
    ("2024-02-27", "Nova", 1, "The support line kept me waiting for an hour and then hung up."),
    ("2024-03-05", "Echo", 5, "The helpful lady at customer support solved it in five minutes."),
    ("2024-03-18", "Nova", 2, "I have to charge the battery twice a day."),
    ("2024-04-02", "Echo", 1, "The battery dies within an hour."),
    ("2024-04-04", "Nova", 2, "Battery life is a disappointment."),
    ("2024-04-09", "Nova", 5, "The music sounds as if the band were in the room."),
    ("2024-04-16", "Echo", 4, "The battery lasts all weekend, very pleased with it."),
    ("2024-04-23", "Nova", 1, "It shipped late, and the courier left the box in the rain."),
    ("2024-05-02", "Echo", 3, "It is fine, nothing special."),
    ("2024-05-08", "Nova", 1, "After half a year the battery no longer holds a charge."),
    ("2024-05-15", "Echo", 5, "Fast delivery, it came the next morning."),
    ("2024-05-29", "Nova", 2, "Support never replied to my three emails."),
    ("2024-06-06", "Echo", 2, "Charging takes forever and the battery drains overnight."),
    ("2024-06-14", "Nova", 4, "Deep bass, clear voices."),
    ("2024-06-25", "Echo", 1, "The shipment was lost and I am still waiting for a refund."),
    ("2024-07-03", "Nova", 5, "Beautiful colour, my daughter loves it."),
    ("2024-07-19", "Echo", 1, "The battery swelled up and had to be replaced."),
)
"""Comments with their days, products and stars."""

HEAD = ("Date", "Product", "Rating", "Comment")


def reviews(folder: Path, name: str = "reviews.csv", rated: bool = True) -> Path:
    lines = [HEAD if rated else (HEAD[0], HEAD[1], HEAD[3])]
    for day, product, stars, text in ROWS:
        lines.append((day, product, stars, text) if rated else (day, product, text))  # type: ignore[arg-type]
    rows = "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines)
    path = folder / name
    path.write_text(rows, encoding="utf-8")
    return path


def workbook(folder: Path) -> Path:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Survey"
    sheet.append(["Datum", "Filiale", "Sterne", "Kommentar"])
    for row in (
        ("2024-04-02", "Kassel", 1, "Wir mussten zwei Stunden auf den Termin warten."),
        ("2024-04-05", "Kassel", 2, "Lange Wartezeit, und niemand hat sich entschuldigt."),
        ("2024-05-11", "Fulda", 5, "Sehr freundliches Personal, vielen Dank."),
        ("2024-06-20", "Fulda", 1, "Die Wartezeit war unzumutbar."),
    ):
        sheet.append(row)
    path = folder / "umfrage.xlsx"
    book.save(path)
    return path
