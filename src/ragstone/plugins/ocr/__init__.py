"""The text of scans and pictures, by RapidOCR's models, which are in its package."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "The text of scanned pages and pictures, recognised on this machine.",
    {
        "recognizers": {
            "rapidocr": Extension(
                f"{__name__}.rapidocr:RapidOcr", "Print in Latin, Chinese and Japanese", extra="ocr"
            )
        }
    },
)
