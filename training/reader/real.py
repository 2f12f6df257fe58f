"""Examples made from public sets with a licence that allows it, and from the passages in them.

A question with its answer becomes a statement, with another answer from the same passage a false
one. A sentence becomes a claim as it stands, shortened, or in another language (XQuAD has every
passage in twelve), and a false one by `swaps`; the change is made in the passage about as often as
in the claim, so that a strange claim is no sign. Documents are split in halves (`held_out`).
"""

import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ragstone.language.sentences import sentences
from ragstone.plugins.evaluation.dataset import read_rows
from training.reader.example import Example, Place, Verdict, is_held_out
from training.reader.statements import statement
from training.reader.swaps import Swapper, is_cjk

XQUAD = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
LONGEST = 420
"""Characters of a passage in Latin letters beside a claim; three times fewer in Chinese."""
LONGEST_ASKED = 900
MAX_WINDOW = 1200
"""Characters around an answer: of a longer row or sentence the reader would not see the end."""


def rows_of(directory: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return passages and questions."""
    corpus = list(read_rows(directory / "corpus.jsonl.gz"))
    return corpus, list(read_rows(directory / "dev" / "queries.jsonl.gz"))


def split_of(name: str, row: dict[str, Any]) -> str:
    """Return the name of the document that a passage is from: all of an article are on one side."""
    if "group" in row:
        return str(row["group"])
    if name in ("squad2_dev", "xquad"):
        return "article " + str(row["title"]).replace("_", " ")
    return f"{name} {row.get('title') or row['id']}"


class Passages:
    """Passages of one set, their sentences (or what `split` finds) and their questions."""

    def __init__(
        self,
        name: str,
        rows: Sequence[dict[str, Any]],
        questions: Sequence[dict[str, Any]] = (),
        split: Callable[[str], list[Place]] | None = None,
    ) -> None:
        self.name = name
        self.rows = rows
        self.by_id = {row["id"]: row for row in self.rows}
        self.questions = [q for q in questions if q["relevant"] and q["relevant"][0] in self.by_id]
        self.answers: dict[str, list[str]] = defaultdict(list)
        for question in self.questions:
            if question["answers"]:
                self.answers[question["relevant"][0]].append(min(question["answers"], key=len))
        self.cut = {row["id"]: (split or cut)(row["text"]) for row in self.rows}

    @cached_property
    def of_article(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for row in self.rows:
            found[split_of(self.name, row)].append(row["id"])
        return found

    def title(self, row: dict[str, Any]) -> str:
        return str(row.get("title", "")).replace("_", " ")

    def nearest(self, question: str, count: int = 8) -> list[tuple[dict[str, Any], int]]:
        """The sentences that share most of a question's words, the rarer ones counting more."""
        scores: dict[tuple[str, int], float] = defaultdict(float)
        for word in words_of(question):
            places = self._sentences_with.get(word, ())
            if len(places) <= max(20, len(self.rows) // 4):
                for place in places:
                    scores[place] += 1 / (1 + math.log(len(places)))
        best = sorted(scores, key=lambda place: (-scores[place], place))[:count]
        return [(self.by_id[id_], place) for id_, place in best]

    @cached_property
    def ends(self) -> dict[tuple[str, str], list[str]]:
        """The last words of questions that begin with the same two."""
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for question in self.questions:
            words = question["query"].rstrip(" ?？").split()
            if len(words) >= 2:
                found[(words[0].casefold(), words[1].casefold())].append(words[-1])
        return found

    @cached_property
    def _sentences_with(self) -> dict[str, list[tuple[str, int]]]:
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for row in self.rows:
            for place, (start, end) in enumerate(self.cut[row["id"]]):
                for word in words_of(row["text"][start:end]):
                    found[word].append((row["id"], place))
        return found


def words_of(text: str) -> set[str]:
    """Return the beginnings of words of three letters or more; in Chinese and Japanese pairs of
    signs."""
    if is_cjk(text[:100]):
        return {text[i : i + 2] for i in range(len(text) - 1) if text[i : i + 2].isalnum()}
    return {word[:7] for word in re.findall(r"\w{3,}", text.casefold())}


def place_of_answer(question: dict[str, Any], text: str) -> tuple[str, int]:
    """The answer that somebody marked, else the shortest, and where it is; -1 where it is not."""
    if question.get("start") is not None:
        return question["answers"][0], question["start"]
    right = min(question["answers"], key=len)
    return right, text.find(right)


def cut(text: str) -> list[Place]:
    return [(s.start, s.end) for s in sentences(text)]


def window(
    text: str, spans: Sequence[Place], place: int, longest: int, chance: random.Random
) -> Place:
    """The sentence at `place` with some of its neighbours; of three in ten windows with many."""
    first = last = place
    many = chance.random() < 0.3
    wanted = chance.choice((4, 6, 8, 12) if many else (0, 0, 1, 1, 2, 3, 4))
    longest = max(longest, LONGEST_ASKED) if many else longest
    longest = longest // 3 if is_cjk(text[:200]) else longest
    while wanted:
        grow_left = chance.random() < 0.5
        to = (max(0, first - 1), last) if grow_left else (first, min(len(spans) - 1, last + 1))
        if spans[to[1]][1] - spans[to[0]][0] <= longest:
            first, last = to
        wanted -= 1
    return spans[first][0], spans[last][1]


class Maker:
    def __init__(self, data: Path, held: bool, seed: int) -> None:
        self._data = data
        self._held = held
        self._chance = random.Random(seed)
        self._swapper = Swapper(self._chance)

    def passages(self, name: str, folder: str | None = None) -> Passages:
        """Return the passages of a set on this side of the split."""
        rows, questions = rows_of(self._data / (folder or name))
        rows = [row for row in rows if is_held_out(split_of(name, row)) == self._held]
        return Passages(name, rows, questions)

    # Claims -----------------------------------------------------------------------------------

    def fever(self) -> Iterator[Example]:
        labels = {"supported": Verdict.SUPPORTED, "refuted": Verdict.CONTRADICTED}
        yield from self._labelled("fever_symmetric", labels)

    def jnli(self) -> Iterator[Example]:
        yield from self._labelled("jnli_ja", _NLI)

    def klue(self) -> Iterator[Example]:
        yield from self._labelled("klue_nli_ko", _NLI)

    def _labelled(self, name: str, labels: dict[str, Verdict]) -> Iterator[Example]:
        for row in read_labelled(self._data, name, self._held):
            verdict = labels[row["label"]]
            wrong = () if verdict is Verdict.SUPPORTED else None
            yield Example(name, row["claim"], row["source"], verdict=verdict, wrong=wrong)

    def wice(self) -> Iterator[Example]:
        """A claim beside the sentences that were marked, or those that share most words with it."""
        for row in read_rows(self._data / "wice" / "dev" / "examples.jsonl.gz"):
            if is_held_out("wice " + row["id"].split("#")[0]) != self._held:
                continue
            verdict = Verdict.SUPPORTED if row["label"] == "supported" else Verdict.NOT
            for text in near_windows(row["response"], row["source"], 2 if verdict else 1):
                yield Example("wice", row["response"], text, verdict=verdict)

    def scifact(self) -> Iterator[Example]:
        corpus = {row["id"]: row for row in read_rows(self._data / "scifact" / "corpus.jsonl.gz")}
        for row in read_rows(self._data / "scifact" / "dev" / "queries.jsonl.gz"):
            for item in row["evidence"]:
                if is_held_out(f"scifact {item['doc']}") != self._held:
                    continue
                entry = corpus[item["doc"]]
                spans = cut(entry["text"])
                verdict = Verdict.SUPPORTED if item["label"] == "SUPPORT" else Verdict.CONTRADICTED
                chosen = [i for i in item["sentences"] if i < len(spans)]
                if not chosen:
                    continue
                text = " ".join(entry["text"][slice(*spans[i])].strip() for i in chosen[:3])
                yield Example("scifact", row["query"], text, title=entry["title"], verdict=verdict)
                away = [i for i in range(len(spans)) if all(abs(i - j) > 1 for j in chosen)]
                if away:
                    text = entry["text"][slice(*spans[self._chance.choice(away)])]
                    yield Example(
                        "scifact",
                        row["query"],
                        text,
                        title=entry["title"],
                        verdict=Verdict.NOT_SAID,
                    )

    def of_answers(self, found: Passages, most: int) -> Iterator[Example]:
        """Yield questions with their answers as claims: the right answer, another, and beside a
        passage that lacks it."""
        chance = self._chance
        questions = [q for q in found.questions if q["answers"]]
        for question in chance.sample(questions, min(most, len(questions))):
            row = found.by_id[question["relevant"][0]]
            right, at = place_of_answer(question, row["text"])
            if at < 0 or len(right) > 120:
                continue
            spans = found.cut[row["id"]]
            place = next((i for i, (_, end) in enumerate(spans) if end > at), 0)
            start, end = window(row["text"], spans, place, LONGEST, chance)
            text = row["text"][start:end]
            if right not in text:
                continue
            title = found.title(row) if chance.random() < 0.5 else ""
            shape = chance.random()
            claim = self._as_claim(question["query"], right, shape)
            kind = f"answers {found.name}"
            yield Example(kind, claim, text, title=title, verdict=Verdict.SUPPORTED, wrong=())
            wrong = self.wrong_answer(right, text, row, found)
            if wrong:
                claim = self._as_claim(question["query"], wrong, shape)
                where = claim.rfind(wrong)
                yield Example(
                    kind,
                    claim,
                    text,
                    title=title,
                    verdict=Verdict.NOT,
                    wrong=((where, where + len(wrong)),) if where >= 0 else None,
                )
            if chance.random() < 0.45:
                other = self._without(row, question["answers"], found)
                if other:
                    claim = self._as_claim(question["query"], right, shape)
                    yield Example(kind, claim, other, title=title, verdict=Verdict.NOT_SAID)

    def of_unanswerable(self, found: Passages, most: int) -> Iterator[Example]:
        """Yield questions that a passage does not answer, with a likely answer: not said."""
        rows = [q for q in found.questions if not q["answers"] and q.get("answerable") is False]
        for question in self._chance.sample(rows, min(most, len(rows))):
            row = found.by_id[question["relevant"][0]]
            pool = found.answers.get(row["id"])
            if not pool:
                continue
            likely = [a for a in pool if a in row["text"]]
            if not likely:
                continue
            answer = self._chance.choice(likely)
            at = row["text"].index(answer)
            spans = found.cut[row["id"]]
            place = next((i for i, (_, end) in enumerate(spans) if end > at), 0)
            start, end = window(row["text"], spans, place, LONGEST, self._chance)
            claim = self._as_claim(question["query"], answer, self._chance.random())
            yield Example(
                f"unanswered {found.name}", claim, row["text"][start:end], verdict=Verdict.NOT
            )

    def _as_claim(self, question: str, answer: str, shape: float) -> str:
        if shape < 0.2:
            return f"{question} {answer}"
        return statement(question, answer)

    def wrong_answer(
        self, right: str, text: str, row: dict[str, Any], found: Passages
    ) -> str | None:
        own = [a for a in found.answers[row["id"]] if _may_replace(right, a)]
        near = [a for a in own if a in text]
        if near and self._chance.random() < 0.5:
            return self._chance.choice(near)
        changed = self._swapper.changed(right, text, own)
        if changed and changed.kind in ("number", "name", "date", "unit"):
            return changed.text
        return self._chance.choice(near or own) if near or own else None

    def _without(self, row: dict[str, Any], answers: Sequence[str], found: Passages) -> str | None:
        """Return a piece of the same passage or article without any of the answers."""
        spans = found.cut[row["id"]]
        free = [
            i for i, s in enumerate(spans) if not any(a in row["text"][slice(*s)] for a in answers)
        ]
        if free and self._chance.random() < 0.6:
            start, end = spans[self._chance.choice(free)]
            return str(row["text"][start:end])
        ids = found.of_article[split_of(found.name, row)]
        other = found.by_id[self._chance.choice(ids)]
        spans = found.cut[other["id"]]
        start, end = window(
            other["text"], spans, self._chance.randrange(len(spans)), LONGEST, self._chance
        )
        text = other["text"][start:end]
        return None if other["id"] == row["id"] or any(a in text for a in answers) else text

    def of_sentences(self, found: Passages, most: int) -> Iterator[Example]:
        """Yield sentences of a passage as they stand or shortened, and with one thing changed."""
        chance = self._chance
        places = [
            (row, i)
            for row in found.rows
            for i, (start, end) in enumerate(found.cut[row["id"]])
            if 12 <= end - start <= (130 if is_cjk(row["text"][:100]) else 330)
        ]
        for row, i in chance.sample(places, min(most, len(places))):
            spans = found.cut[row["id"]]
            sentence = row["text"][slice(*spans[i])].strip()
            start, end = window(row["text"], spans, i, LONGEST, chance)
            text = row["text"][start:end]
            claim = chance.choice((sentence, *shorter(sentence)))
            beside = i + chance.choice((-1, 1))
            if chance.random() < 0.12 and 0 <= beside < len(spans):
                other = row["text"][slice(*spans[beside])].strip()
                both = start <= spans[beside][0] and spans[beside][1] <= end
                claim = f"{claim} {other}" if both and len(other) < 160 else claim
            title = found.title(row) if chance.random() < 0.4 else ""
            yield from self._with_changes(
                claim,
                sentence,
                text,
                row["text"],
                found.answers[row["id"]],
                title,
                f"sentence {found.name}",
            )
            if chance.random() < 0.2:
                away = [j for j in range(len(spans)) if abs(j - i) > 1]
                if away:
                    other = row["text"][slice(*spans[chance.choice(away)])]
                    yield Example(
                        f"sentence {found.name}",
                        claim,
                        other,
                        title=title,
                        verdict=Verdict.NOT_SAID,
                    )

    def _with_changes(
        self,
        claim: str,
        sentence: str,
        text: str,
        near: str,
        names: Sequence[str],
        title: str,
        kind: str,
    ) -> Iterator[Example]:
        yield Example(kind, claim, text, title=title, verdict=Verdict.SUPPORTED, wrong=())
        changed = self._swapper.changed(claim, near, names)
        if changed is None:
            return
        verdict = Verdict.NOT if changed.kind in ("name", "unit", "noun") else Verdict.CONTRADICTED
        if self._chance.random() < 0.7:
            yield Example(
                kind, changed.text, text, title=title, verdict=verdict, wrong=changed.places
            )
            return
        # The change is in the passage: there the changed claim is true, and the true one false.
        if claim == sentence and sentence in text:
            moved = text.replace(sentence, changed.text)
            yield Example(kind, claim, moved, title=title, verdict=verdict)
            yield Example(
                kind, changed.text, moved, title=title, verdict=Verdict.SUPPORTED, wrong=()
            )

    def across(self, most: int) -> Iterator[Example]:
        """Yield a sentence in one language beside the same place of the passage in another."""
        chance = self._chance
        sets = {lang: self.passages("xquad", f"xquad/{lang}") for lang in XQUAD}
        ids = [row["id"].split(":")[-1] for row in sets["en"].rows]
        made = 0
        for _ in range(most * 4):
            if made >= most:
                return
            here, there = chance.sample(XQUAD, 2)
            if chance.random() < 0.5:
                here, there = chance.choice((("en", there), (here, "en")))
            if here == there:
                continue
            name = chance.choice(ids)
            one, other = sets[here].by_id[f"{here}:{name}"], sets[there].by_id[f"{there}:{name}"]
            spans, others = sets[here].cut[one["id"]], sets[there].cut[other["id"]]
            if len(spans) != len(others):
                continue
            i = chance.randrange(len(spans))
            sentence = one["text"][slice(*spans[i])].strip()
            if len(sentence) > 330:
                continue
            start, end = window(other["text"], others, i, LONGEST, chance)
            text = other["text"][start:end]
            made += 1
            yield Example("across", sentence, text, verdict=Verdict.SUPPORTED, wrong=())
            changed = self._swapper.changed(sentence, one["text"])
            if changed:
                yield Example(
                    "across", changed.text, text, verdict=Verdict.NOT, wrong=changed.places
                )
            if chance.random() < 0.3 and len(spans) > 3:
                j = (i + chance.choice((2, -2))) % len(spans)
                elsewhere = other["text"][slice(*others[j])]
                yield Example("across", sentence, elsewhere, verdict=Verdict.NOT_SAID)

    # Questions --------------------------------------------------------------------------------

    def of_questions(self, found: Passages, most: int) -> Iterator[Example]:
        """Yield questions beside their passage or a piece of it, beside pieces without the answer,
        and with a name or number exchanged."""
        for question in self._chance.sample(found.questions, min(most, len(found.questions))):
            row = found.by_id[question["relevant"][0]]
            title = found.title(row) if self._chance.random() < 0.5 else ""
            kind = f"asked {found.name}"
            if question["answers"]:
                yield from self._of_answered(
                    question, row, found, Example(kind, "", "", True, title)
                )
            elif question.get("answerable") is False:
                text = self._asked_window(question["query"], row, found)
                yield Example(kind, question["query"], text, True, title, answers=False)

    def _of_answered(
        self, question: dict[str, Any], row: dict[str, Any], found: Passages, form: Example
    ) -> Iterator[Example]:
        chance = self._chance
        query = question["query"]
        held = self._window_of_answer(question, row, found)
        if held is None:
            return
        text, span = held
        yield replace(form, text=query, passage=text, answers=True, span=span)
        other = chance.random() < 0.4 and self._without(row, question["answers"], found)
        if other:
            yield replace(form, text=query, passage=other, answers=False)
        if chance.random() < 0.3:
            changed = self._swapper.changed(query, row["text"], found.answers[row["id"]])
            if changed and changed.kind in ("name", "number", "date", "roles", "noun"):
                yield replace(form, text=changed.text, passage=text, answers=False)
        if chance.random() < 0.3:
            asked = self._asked_otherwise(query, row["text"], found)
            if asked:
                yield replace(form, text=asked, passage=text, answers=False)

    def _window_of_answer(
        self, question: dict[str, Any], row: dict[str, Any], found: Passages
    ) -> tuple[str, Place] | None:
        """The passage or a piece of it that holds the shortest answer, and the answer's place."""
        right, at = place_of_answer(question, row["text"])
        if at < 0:
            return None
        spans = found.cut[row["id"]]
        place = next((i for i, (_, end) in enumerate(spans) if end > at), 0)
        start, end = window(row["text"], spans, place, LONGEST, self._chance)
        size = LONGEST_ASKED // 3 if is_cjk(row["text"][:100]) else LONGEST_ASKED
        if spans[-1][1] - spans[0][0] <= size and self._chance.random() < 0.45:
            start, end = spans[0][0], spans[-1][1]
        text = row["text"][start:end]
        begin = text.find(right, max(0, at - start))
        if begin < 0 or len(text) > MAX_WINDOW:
            return None
        return text, (begin, begin + len(right))

    def asked_across(self, most: int) -> Iterator[Example]:
        """Yield questions in one language beside passages in another: their own, pieces without the
        answer, those that share most of the question's words, and with a word exchanged."""
        chance = self._chance
        sets = {lang: self.passages("xquad", f"xquad/{lang}") for lang in XQUAD}
        asked = {lang: {q["qid"]: q for q in found.questions} for lang, found in sets.items()}
        for _ in range(most):
            here, there = chance.sample(XQUAD, 2)
            if chance.random() < 0.5:
                here, there = chance.choice(((here, "en"), ("en", there)))
            if here == there:
                continue
            question = chance.choice(sets[here].questions)
            theirs, found = asked[there].get(question["qid"]), sets[there]
            if theirs is None or not theirs["answers"]:
                continue
            own, row = (
                item.by_id[q["relevant"][0]]
                for item, q in ((sets[here], question), (found, theirs))
            )
            query, title = question["query"], found.title(row) if chance.random() < 0.5 else ""
            form = Example("asked across", query, "", True, title, answers=False)
            right = self._window_of_answer(theirs, row, found)
            if right is None:
                continue
            text, span = right
            yield replace(form, passage=text, answers=True, span=span)
            other = chance.random() < 0.5 and self._without(row, theirs["answers"], found)
            if other:
                yield replace(form, passage=other)
            near = chance.random() < 0.7 and self._near_window(theirs, found)
            if near:
                yield replace(form, passage=near[1])
            answers = sets[here].answers[own["id"]]
            changed = chance.random() < 0.4 and self._swapper.changed(query, own["text"], answers)
            if changed and changed.kind in ("name", "number", "date", "roles", "noun"):
                yield replace(form, text=changed.text, passage=text)
            otherwise = chance.random() < 0.3 and self._asked_otherwise(
                query, own["text"], sets[here]
            )
            if otherwise:
                yield replace(form, text=otherwise, passage=text)

    def _asked_otherwise(self, query: str, passage: str, found: Passages) -> str:
        """Return the question with a word of another one that the passage lacks: "when was it
        built" for "when was it opened"."""
        chance = self._chance
        words = query.rstrip(" ?？").split()
        if is_cjk(query) or len(words) < 4:
            return ""
        if chance.random() < 0.5:
            new = chance.choice(found.ends[(words[0].casefold(), words[1].casefold())])
            asked = " ".join([*words[:-1], new]) + "?"
        else:
            others = chance.sample(found.questions, min(60, len(found.questions)))
            near = " ".join(item["query"] for item in others)
            changed = self._swapper.changed(query, near, (), "noun")
            if changed is None:
                return ""
            new = changed.text[slice(*changed.places[0])]
            asked = changed.text
        held = new[:6].casefold() in f"{query} {passage}".casefold()
        return "" if held else asked

    def of_near(self, found: Passages, most: int) -> Iterator[Example]:
        """Yield questions, and their answers as claims, beside the sentences that share most of the
        question's rarer words and lack every answer, in the same passage and in others."""
        chance = self._chance
        questions = [q for q in found.questions if q["answers"]]
        for question in chance.sample(questions, min(most, len(questions))):
            near = self._near_window(question, found)
            if near is None:
                continue
            row, text = near
            title = found.title(row) if chance.random() < 0.4 else ""
            yield Example(f"near {found.name}", question["query"], text, True, title, answers=False)
            right = min(question["answers"], key=len)
            if chance.random() < 0.4 and len(right) <= 120:
                claim = self._as_claim(question["query"], right, chance.random())
                yield Example(
                    f"near {found.name}", claim, text, title=title, verdict=Verdict.NOT_SAID
                )

    def _near_window(
        self, question: dict[str, Any], found: Passages
    ) -> tuple[dict[str, Any], str] | None:
        """A passage, and a piece of it that shares much with the question and lacks each answer."""
        answers = [item.casefold() for item in question["answers"]]
        near = [
            (row, place)
            for row, place in found.nearest(question["query"])
            if row["id"] == question["relevant"][0]
            or not any(a in row["text"].casefold() for a in answers)
        ]
        if not near:
            return None
        row, place = self._chance.choice(near)
        start, end = window(row["text"], found.cut[row["id"]], place, LONGEST, self._chance)
        text = str(row["text"][start:end])
        return None if any(a in text.casefold() for a in answers) else (row, text)

    def _asked_window(self, query: str, row: dict[str, Any], found: Passages) -> str:
        spans = found.cut[row["id"]]
        text = str(row["text"])
        size = LONGEST_ASKED // 3 if is_cjk(text[:100]) else LONGEST_ASKED
        if spans[-1][1] - spans[0][0] <= size and self._chance.random() < 0.45:
            return text
        held = [len(words_of(query) & words_of(text[s:e])) for s, e in spans]
        start, end = window(text, spans, held.index(max(held)), LONGEST, self._chance)
        return text[start:end]


def read_labelled(data: Path, name: str, held: bool) -> list[dict[str, Any]]:
    """Return the rows of a set of claims with one sentence each, on one side of the split. Rows
    that share a text, be it one's claim and the other's source, are on the same side."""
    rows = list(read_rows(data / name / "dev" / "examples.jsonl.gz"))
    first: dict[str, str] = {}

    def head(text: str) -> str:
        while first.setdefault(text, text) != text:
            text = first[text]
        return text

    for row in rows:
        one, other = sorted((head(row["source"]), head(row["claim"])))
        first[other] = one
    return [row for row in rows if is_held_out(f"{name} {head(row['source'])}") == held]


_NLI = {
    "supported": Verdict.SUPPORTED,
    "refuted": Verdict.CONTRADICTED,
    "not_supported": Verdict.NOT_SAID,
}


def _may_replace(right: str, other: str) -> bool:
    if right.casefold() in other.casefold() or other.casefold() in right.casefold():
        return False
    digits = [any(c.isdigit() for c in text) for text in (right, other)]
    return digits[0] == digits[1] and 1 / 4 <= len(right) / len(other) <= 4


def shorter(sentence: str) -> list[str]:
    """Return the sentence without brackets, or without its last clause."""
    found = [re.sub(r"\s?[(（][^)）]*[)）]", "", sentence)]
    parts = re.split(r"(?<=[,;]) |(?<=[，、；])", sentence)
    if len(parts) > 1:
        found.append(
            "".join(p if is_cjk(sentence) else p + " " for p in parts[:-1]).rstrip(",，、;； ")
            + sentence[-1]
        )
    return [item for item in found if len(item) >= 8]


def near_windows(claim: str, source: str, most: int) -> list[str]:
    """Return the pieces of three sentences of a long source that hold most of a claim's words."""
    spans = [(s, e) for s, e in cut(source) if e - s > 3]
    scored = []
    for i in range(len(spans)):
        start, end = spans[i][0], spans[min(len(spans) - 1, i + 2)][1]
        text = source[start : min(end, start + 700)]
        scored.append((len(words_of(claim) & words_of(text)), -i, text))
    return [text for _, _, text in sorted(scored, reverse=True)[:most]]
