"""What the letters of picture fonts look like, by the font's name in small letters."""

PICTURE_SIGNS = {
    b"wingdings": {"o": "☐", "\xa8": "☐", "x": "☒", "\xfd": "☒", "\xfe": "☑", "\xfc": "✓",
                   "\xfb": "✗", "\xe0": "→", "\xe8": "→"},
    b"wingdings2": {"\xa3": "☐", "Q": "☒", "S": "☒", "R": "☑", "P": "✓", "O": "✗"},
}  # fmt: skip
"""Glyphs that say something wherever they stand, by their font and their place in it."""
