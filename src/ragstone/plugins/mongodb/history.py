"""Statistics in MongoDB: a collection for each search type, a document for each day, user and room.

The fields are those of the chat-core document; `model` is the search type there. Beside them are
whose the sums are and what else is summed.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from pymongo.errors import DuplicateKeyError

from ragstone.core.clock import state_time
from ragstone.core.records import By, DayUse, Report, StrategyUse, Use
from ragstone.core.turn import Principal, SearchType, Turn
from ragstone.plugins.mongodb.connection import Document, Mongo, make_storable

_Amounts = tuple[int, int, int, int, int, float]
_SUMS = ("questions", "refused", "blocked", "prompt", "completion", "cost")


class MongoHistory:
    """`ports.History` in the database `name` of a MongoDB."""

    def __init__(self, mongo: Mongo, name: str) -> None:
        self._mongo = mongo
        self._types = {kind: mongo.client[name][kind] for kind in get_args(SearchType)}
        self._strategies = mongo.client[name]["strategies"]

    async def save(self, turn: Turn) -> None:
        """Count the turn. Saving a turn twice counts it twice."""
        ask, answer, usage = turn.ask, turn.answer, turn.usage
        key = {
            "tenant": ask.principal.tenant,
            "user": ask.principal.user,
            "user_id": ask.user_id,
            "room_id": ask.room or "",
            "date": _day(0),
            "model": ask.search_type,
        }
        tokens = {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        }
        counted = {
            "questions": 1,
            "refused": int(answer is not None and answer.refused),
            "blocked": int(answer is not None and answer.finish == "blocked"),
            "cost": usage.cost or 0.0,
        }
        new = {**key, "usage": {**tokens, "type": "usage"}, **counted}
        added = {**{f"usage.{name}": amount for name, amount in tokens.items()}, **counted}
        with self._mongo.translate_errors():
            await _add(self._types[ask.search_type], key, new, added)
            if turn.lists:
                sure = answer.confidence if answer else None
                by = {
                    "tenant": ask.principal.tenant,
                    "date": key["date"],
                    "strategy": turn.plan.strategy,
                }
                amounts = {
                    "executions": 1,
                    "seconds": turn.seconds,
                    "rated": int(sure is not None),
                    "confidence": sure or 0.0,
                }
                await _add(self._strategies, by, {**by, **amounts}, amounts)

    async def report(self, tenant: str, days: int) -> Report:
        since = _date_filter(tenant, days)
        with self._mongo.translate_errors():
            dates = await self._sums(since, "date")
            used = await (await self._strategies.aggregate([since, _BY_STRATEGY])).to_list()
        return Report(
            tuple(DayUse(date, *sums) for date, sums in dates),
            tuple(_strategy_use(row) for row in sorted(used, key=lambda row: str(row["_id"]))),
        )

    async def use(self, tenant: str, days: int, by: By, user: str | None = None) -> list[Use]:
        """`ports.History`; `model` is the search type here."""
        since = _date_filter(tenant, days)
        if user is not None:
            since["$match"]["user"] = user
        with self._mongo.translate_errors():
            return [Use(name, *sums) for name, sums in await self._sums(since, _NAMES[by])]

    async def _sums(self, which: Document, by: str) -> list[tuple[str, _Amounts]]:
        """Return the sums of every search type by a field, in its order."""
        found: dict[str, list[float]] = {}
        for collection in self._types.values():
            rows = await collection.aggregate([which, {"$group": {"_id": f"${by}", **_ADDED}}])
            async for row in rows:
                sums = found.setdefault(str(row["_id"]), [0] * len(_SUMS))
                for at, name in enumerate(_SUMS):
                    sums[at] += row[name]
        return [(name, _amounts(sums)) for name, sums in sorted(found.items())]

    async def forget(self, principal: Principal, user_id: str | None) -> int:
        whose: Document = {"tenant": principal.tenant, "user": principal.user}
        if user_id is not None:
            whose["user_id"] = user_id
        days: set[str] = set()
        with self._mongo.translate_errors():
            for collection in self._types.values():
                days.update([item["date"] async for item in collection.find(whose, {"date": 1})])
                await collection.delete_many(whose)
        return len(days)


_NAMES: Mapping[By, str] = {
    "day": "date",
    "user": "user",
    "user_id": "user_id",
    "room": "room_id",
    "model": "model",
}
_ADDED = {
    **{name: {"$sum": f"${name}"} for name in ("questions", "refused", "blocked", "cost")},
    "prompt": {"$sum": "$usage.prompt_tokens"},
    "completion": {"$sum": "$usage.completion_tokens"},
}
_BY_STRATEGY = {
    "$group": {
        "_id": "$strategy",
        **{name: {"$sum": f"${name}"} for name in ("executions", "seconds", "rated", "confidence")},
    }
}


async def _add(
    collection: Any, key: Mapping[str, Any], new: Mapping[str, Any], added: Mapping[str, Any]
) -> None:
    """Add to the key's document, or make it; two that begin it at once both count."""
    names = json.dumps([key[name] for name in sorted(key)])
    id = {"_id": hashlib.blake2b(names.encode(), digest_size=16).hexdigest()}
    for _ in range(2):
        if (await collection.update_one(id, {"$inc": dict(added)})).matched_count:
            return
        try:
            await collection.insert_one({**id, **make_storable(new)})
        except DuplicateKeyError:
            continue
        return


def _day(before: int) -> str:
    """Return a day (UTC) as YYYY-MM-DD, so many days before today."""
    return str((datetime.fromtimestamp(state_time(), UTC) - timedelta(days=before)).date())


def _date_filter(tenant: str, days: int) -> Document:
    return {"$match": {"tenant": tenant, "date": {"$gte": _day(days - 1)}}}


def _amounts(sums: list[float]) -> _Amounts:
    questions, refused, blocked, prompt, completion = (int(amount) for amount in sums[:5])
    return questions, refused, blocked, prompt, completion, float(sums[5])


def _strategy_use(row: Mapping[str, Any]) -> StrategyUse:
    times, rated = int(row["executions"]), int(row["rated"])
    sure = row["confidence"] / rated if rated else None
    return StrategyUse(str(row["_id"]), times, row["seconds"] / times, sure)
