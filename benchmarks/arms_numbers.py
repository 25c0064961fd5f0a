"""What the raw numbers of the benchmark say: totals, ratios with their intervals, and who is worse. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from benchmarks.arms_names import REMEDIES
from planopt_assets.model.verdict import Gain
from planopt_assets.validate.intervals import ratio_interval

CONFIDENCE = 0.95
WORSE = 1.03  # an interval wholly beyond it is a regression
Raw = dict[str, Any]


def complete(raw: Raw, arms: Iterable[str]) -> list[str]:
    """The queries that each of these arms finished in every round."""
    among = [raw["clocks"][arm] for arm in arms]
    return [q for q in raw["clocks"]["original"] if all(len(by[q]["cpu"]) == raw["rounds"] for by in among)]


def totalled(raw: Raw, arm: str = "original") -> list[str]:
    """The queries of an arm's totals: all that original finished, less those that the arm itself does not.

    Worked: of 22 queries `global_tuning` breaks 2. Its totals, and those of original beside them, are of 20; all other
    arms are compared on 22, so that an arm nobody would have does not take the dearest queries out of everybody's sums.
    """
    whole = [name for name in raw["clocks"] if not broken_by(raw, name)]
    return complete(raw, {*whole, arm})


def varying(raw: Raw) -> set[str]:
    """Queries whose own result differs from run to run: nothing can be compared with it."""
    return {query for query, clocks in raw["clocks"]["original"].items() if clocks["different"]}


def different(raw: Raw, arm: str) -> list[str]:
    """Queries with another result than original's, where that has one."""
    return [q for q, clocks in raw["clocks"][arm].items() if clocks["different"] and q not in varying(raw)]


def failing(raw: Raw, arm: str) -> list[str]:
    return [q for q, clocks in raw["clocks"][arm].items() if clocks["failures"]]


def broken(raw: Raw) -> bool:
    """Whether an arm of planopt fails, or returns another result.

    Others are only told: a text may leave its result open, as with ties before LIMIT, and only planopt promises it.
    """
    return any(failing(raw, arm) or different(raw, arm) for arm in raw["clocks"] if arm.startswith("planopt"))


def totals(raw: Raw, arm: str, metric: str, queries: Sequence[str]) -> list[float]:
    """Seconds of these queries, per round."""
    return [sum(raw["clocks"][arm][q][metric][n] for q in queries) for n in range(raw["rounds"])]


def summary(raw: Raw) -> list[dict[str, Any]]:
    """One row per arm: medians, and the ratio to original with its interval, over rounds."""
    found = []
    for arm in raw["clocks"]:
        queries = totalled(raw, arm)
        row: dict[str, Any] = {"arm": arm, "queries": len(queries)}
        for metric in ("cpu", "wall"):
            mine, base = totals(raw, arm, metric, queries), totals(raw, "original", metric, queries)
            row[metric] = median(mine)
            row[f"{metric}_less"] = ratio_interval(list(zip(mine, base, strict=True)), metric, CONFIDENCE)
        row["failures"] = len(failing(raw, arm))
        row["different"] = len(different(raw, arm))
        row["worse"] = [] if arm == "original" else worse_in_words(raw, arm)
        found.append(row)
    return found


def worse(raw: Raw, arm: str) -> list[str]:
    """Queries whose CPU or wall clock is surely above original's. One round says nothing for sure."""
    clocks = raw["clocks"]
    if raw["rounds"] < 2:
        return []
    return [
        q
        for q in complete(raw, ("original", arm))
        if any(
            ratio_interval(list(zip(clocks["original"][q][m], clocks[arm][q][m], strict=True)), m, CONFIDENCE).low
            > WORSE
            for m in ("cpu", "wall")
        )
    ]


def worse_in_words(raw: Raw, arm: str) -> list[str]:
    """The same, and which of them run as original there: what they show is chance, and how much of it there is."""
    policies = raw.get("policies", {}).get(arm)
    own_tables = arm in REMEDIES or arm == "planopt_layout"
    chance = set() if own_tables or policies is None else {q for q in raw["clocks"][arm] if q not in policies}
    return [f"{q} (runs as original there: chance)" if q in chance else q for q in worse(raw, arm)]


def comparable(raw: Raw, arms: Sequence[str]) -> list[str]:
    """Queries that original and these arms finished, all with one result."""
    other = {q for arm in arms for q in different(raw, arm)}
    return [q for q in complete(raw, ("original", *arms)) if q not in other]


def against(raw: Raw, arm: str, other: str) -> Gain | None:
    """CPU of an arm over that of another, of the queries that can be compared. None: there is no such query."""
    queries = comparable(raw, (arm, other))
    if not queries:
        return None
    sides = (totals(raw, name, "cpu", queries) for name in (other, arm))
    return ratio_interval(list(zip(*sides, strict=True)), "cpu", CONFIDENCE)


def broken_by(raw: Raw, arm: str) -> list[str]:
    """Queries that original answers and the arm does not: nobody would have this arm."""
    return [q for q in failing(raw, arm) if q not in failing(raw, "original")]


def best_of(raw: Raw, arms: Iterable[str]) -> str | None:
    """Of these arms the one with the least CPU over all queries; one that breaks a query does not count."""
    usable = [arm for arm in arms if arm in raw["clocks"] and not broken_by(raw, arm)]
    queries = comparable(raw, usable)
    return min(usable, key=lambda arm: median(totals(raw, arm, "cpu", queries)), default=None)


def share_reached(raw: Raw, arm: str, limit: str) -> float | None:
    """Of the CPU that the limit saves, the share that an arm saves. None: the limit saves nothing.

    Worked: original takes 80 s, the limit 50 s, the arm 59 s: 21 of 30 s, 70 %.
    """
    queries = comparable(raw, (arm, limit))
    if not queries:
        return None
    base, mine, least = (median(totals(raw, name, "cpu", queries)) for name in ("original", arm, limit))
    return (base - mine) / (base - least) if base > least else None
