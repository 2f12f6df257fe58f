"""Further file formats: old Office files, mails of Outlook, OpenDocument, RTF, EPUB, AsciiDoc, Org,
LaTeX, reStructuredText, notebooks, source code, settings, XML, subtitles, contacts, calendars."""

from ragstone.registry import Extension, Plugin

_ASCIIDOC = Extension(f"{__name__}.asciidoc:ASCIIDOC", "AsciiDoc, with its notes and tables")
_PPT = Extension(f"{__name__}.old_office:PPT", "Presentations of before 2007, slide by slide")
_YAML = Extension(f"{__name__}.config:YAML", "YAML, value by value")
_INI = Extension(f"{__name__}.config:INI", "Settings by sections")

_LANGUAGES = {
    "PYTHON": ("Python", "py"),
    "JAVASCRIPT": ("JavaScript", "js mjs cjs"),
    "JSX": ("JavaScript with markup", "jsx"),
    "TYPESCRIPT": ("TypeScript", "ts"),
    "TSX": ("TypeScript with markup", "tsx"),
    "JAVA": ("Java", "java"),
    "KOTLIN": ("Kotlin", "kt"),
    "SCALA": ("Scala", "scala"),
    "GO": ("Go", "go"),
    "RUST": ("Rust", "rs"),
    "SWIFT": ("Swift", "swift"),
    "C": ("C", "c h"),
    "CPP": ("C++", "cpp cc hpp"),
    "CSHARP": ("C#", "cs"),
    "RUBY": ("Ruby", "rb"),
    "PHP": ("PHP", "php"),
    "SHELL": ("shell scripts", "sh bash"),
    "POWERSHELL": ("PowerShell", "ps1"),
    "SQL": ("SQL", "sql"),
    "LUA": ("Lua", "lua"),
    "R": ("R", "r"),
}
"""Programming languages and the endings of their files, by their format in `source`."""

PLUGIN = Plugin(
    "Further file formats, from old Office files to source code.",
    {
        "formats": {
            "rst": Extension(f"{__name__}.rst:RST", "reStructuredText, with what Sphinx adds"),
            "epub": Extension(f"{__name__}.epub:EPUB", "EPUB books, chapter by chapter"),
            "adoc": _ASCIIDOC,
            "asciidoc": _ASCIIDOC,
            "ipynb": Extension(f"{__name__}.notebook:NOTEBOOK", "Jupyter notebooks, cell by cell"),
            "odt": Extension(f"{__name__}.odf:ODT", "LibreOffice texts"),
            "ods": Extension(f"{__name__}.odf:ODS", "LibreOffice workbooks, row by row"),
            "odp": Extension(f"{__name__}.odf:ODP", "LibreOffice presentations, slide by slide"),
            "yaml": _YAML,
            "yml": _YAML,
            "toml": Extension(f"{__name__}.config:TOML", "TOML, value by value"),
            "ini": _INI,
            "cfg": _INI,
            "doc": Extension(f"{__name__}.old_office:DOC", "Word documents of before 2007"),
            "xls": Extension(f"{__name__}.old_office:XLS", "Excel workbooks of before 2007"),
            "ppt": _PPT,
            "pps": _PPT,
            "msg": Extension(f"{__name__}.outlook:MSG", "Mails of Outlook, with their attachments"),
            "org": Extension(f"{__name__}.org:ORG", "Org, with its headings and tables"),
            "xml": Extension(f"{__name__}.xml:XML", "XML: texts by their titles, data by values"),
            "tex": Extension(f"{__name__}.latex:LATEX", "LaTeX, with its headings and tables"),
            "rtf": Extension(f"{__name__}.rtf:RTF", "Rich text"),
            "srt": Extension(f"{__name__}.subtitles:SRT", "Subtitles, with their times"),
            "vtt": Extension(f"{__name__}.subtitles:VTT", "Subtitles, with their times"),
            "vcf": Extension(f"{__name__}.contacts:VCARD", "Contacts, a row for each"),
            "ics": Extension(f"{__name__}.contacts:CALENDAR", "Calendars, event by event"),
            **{
                ending: Extension(
                    f"{__name__}.source:{name}", f"Source code, {language}: by its definitions"
                )
                for name, (language, endings) in _LANGUAGES.items()
                for ending in endings.split()
            },
        }
    },
)
