"""What a chat model says of an answer by five criteria, as the VoiceHelper document judges it."""

from ragstone.text.json_answer import json_values

CRITERIA = ("relevance", "accuracy", "completeness", "clarity", "citation_quality")
LONGEST_QUERY = 500


def judged(said: str) -> tuple[float, str] | None:
    """The mean of the criteria (0..1) and the next query; None for a reply without all of them."""
    for value in json_values(said):
        if not isinstance(value, dict):
            continue
        points = [value.get(name) for name in CRITERIA]
        numbers = [float(one) for one in points if isinstance(one, int | float)]
        if len(numbers) == len(CRITERIA) and all(0 <= one <= 100 for one in numbers):
            query = value.get("query")
            query = query.strip()[:LONGEST_QUERY] if isinstance(query, str) else ""
            return sum(numbers) / (100 * len(numbers)), query
    return None
