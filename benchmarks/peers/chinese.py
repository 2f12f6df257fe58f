"""Words of Chinese for the peers whose BM25 takes a regular expression with one group."""

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff"

CHARACTERS = rf"([^\W{_HAN}]+|[{_HAN}])"
"""Every character is a word, and so is every run of other letters."""

PAIRS = rf"(?=((?<![^\W{_HAN}])[^\W{_HAN}]+|[{_HAN}]{{2}}))"
"""Every pair of neighbouring characters is a word, as it is for Ragstone."""
