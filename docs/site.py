"""Write what the generator of the site reads: `build/pages` and its settings, `build/site.yml`.

The menu is that of index.md. Two pages from outside this folder come along; other links out of it
lead nowhere on a site, and become their text.
"""

import re
import shutil
from pathlib import Path

import yaml

DOCS = Path(__file__).parent
BUILD = DOCS.parent / "build"
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md")

pages = BUILD / "pages"
shutil.rmtree(pages, ignore_errors=True)
shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
for name in BESIDE:
    text = (DOCS.parent / name).read_text(encoding="utf-8")
    (pages / name).write_text(text.replace("](docs/", "]("), encoding="utf-8")
for page in pages.rglob("*.md"):
    text = page.read_text(encoding="utf-8")
    text = re.sub(rf"\]\(\.\./({'|'.join(BESIDE)})", r"](\1", text)
    if page.parent == pages:
        text = re.sub(
            r"\[([^\]]+)\]\((?:\.\./|(?:src|tests|deploy|examples|benchmarks)/)[^)]*\)", r"\1", text
        )
    page.write_text(text, encoding="utf-8")

menu: list[object] = ["index.md"]
for section in (DOCS / "index.md").read_text(encoding="utf-8").split("\n## ")[1:]:
    listed = re.findall(r"^- \[[^\]]+\]\((?:\.\./)?([^)]+)\)", section, re.MULTILINE)
    menu.append({section.splitlines()[0]: listed})
menu.append({"Changes": ["CHANGELOG.md"]})
settings = {
    "site_name": "Ragstone",
    "site_description": "Answers from your own documents, with the source of every sentence",
    "docs_dir": "pages",
    "site_dir": "site",
    "theme": {"name": "material", "font": False},
    "nav": menu,
}
(BUILD / "site.yml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
