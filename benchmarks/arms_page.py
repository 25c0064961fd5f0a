"""The page of the benchmark, from its raw numbers alone: the same numbers give the same page."""

from __future__ import annotations

from statistics import median
from typing import Any

from planopt_assets.validate.intervals import ratio_interval

CONFIDENCE = 0.95
WORSE = 1.03  # an interval wholly beyond it is a regression
Raw = dict[str, Any]

WORDS = {
    "original": "tables as appended, Spark's defaults",
    "partitions_8": "`spark.sql.shuffle.partitions = 8` for all",
    "global_tuning": "8 partitions, 64 MB broadcast threshold, 64 MB splits for all",
    "auto_compaction": "appended with Delta's auto compaction and optimized writes",
    "optimize": "plain `OPTIMIZE` of every table",
    "optimize_8": "plain `OPTIMIZE` of every table, 8 partitions for all",
    "planopt_settings": "planopt, policies alone",
    "planopt_layout": "planopt, layouts and policies",
}


def complete(raw: Raw) -> list[str]:
    """The queries that every arm finished in every round: totals are of these."""
    rounds = raw["rounds"]
    arms = raw["clocks"].values()
    return [q for q in raw["clocks"]["original"] if all(len(by[q]["cpu"]) == rounds for by in arms)]


def varying(raw: Raw) -> set[str]:
    """Queries whose own result differs from run to run: nothing can be compared with it."""
    return {query for query, clocks in raw["clocks"]["original"].items() if clocks["different"]}


def different(raw: Raw, arm: str) -> list[str]:
    """Queries with another result than original's, where that has one."""
    return [q for q, clocks in raw["clocks"][arm].items() if clocks["different"] and q not in varying(raw)]


def broken(raw: Raw) -> bool:
    """Whether a result differs, or an arm of planopt fails."""
    ours = [by for arm, by in raw["clocks"].items() if arm.startswith("planopt")]
    return any(c["failures"] for by in ours for c in by.values()) or any(different(raw, arm) for arm in raw["clocks"])


def totals(raw: Raw, arm: str, metric: str) -> list[float]:
    """Seconds of all complete queries, per round."""
    queries = complete(raw)
    return [sum(raw["clocks"][arm][q][metric][n] for q in queries) for n in range(raw["rounds"])]


def summary(raw: Raw) -> list[dict[str, Any]]:
    """One row per arm: medians, and the ratio to original with its interval, over rounds."""
    found = []
    for arm, by in raw["clocks"].items():
        row: dict[str, Any] = {"arm": arm}
        for metric in ("cpu", "wall"):
            mine, base = totals(raw, arm, metric), totals(raw, "original", metric)
            row[metric] = median(mine)
            row[f"{metric}_less"] = ratio_interval(list(zip(mine, base, strict=True)), metric, CONFIDENCE)
        row["failures"] = sum(bool(c["failures"]) for c in by.values())
        row["different"] = len(different(raw, arm))
        row["worse"] = [] if arm == "original" else worse(raw, arm)
        found.append(row)
    return found


def worse(raw: Raw, arm: str) -> list[str]:
    """Queries whose CPU or wall clock is surely above original's. One round says nothing for sure."""
    clocks = raw["clocks"]
    if raw["rounds"] < 2:
        return []
    return [
        q
        for q in complete(raw)
        if any(
            ratio_interval(list(zip(clocks["original"][q][m], clocks[arm][q][m], strict=True)), m, CONFIDENCE).low
            > WORSE
            for m in ("cpu", "wall")
        )
    ]


def table(raw: Raw) -> str:
    """For the terminal."""
    lines = [f"{'arm':<18}{'CPU s':>8}{'times less':>22}{'wall s':>8}{'times less':>22}{'failed':>8}{'worse':>7}  cost"]
    for row in summary(raw):
        less = {m: _less(raw, row[f"{m}_less"]) for m in ("cpu", "wall")}
        lines.append(
            f"{row['arm']:<18}{row['cpu']:>8.1f}{less['cpu']:>22}{row['wall']:>8.1f}{less['wall']:>22}"
            f"{row['failures']:>8}{len(row['worse']):>7}  {_cost(raw['charges'][row['arm']])}"
        )
    if unsteady := varying(raw):
        lines.append(f"not compared, since original itself differs from run to run: {', '.join(sorted(unsteady))}")
    return "\n".join([*lines, f"{len(complete(raw))} queries that every arm finished in {raw['rounds']} rounds"])


def _less(raw: Raw, ratio: Any) -> str:
    if raw["rounds"] < 2:
        return f"{ratio.ratio:.2f} (one round)"
    return f"{ratio.ratio:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"


def _cost(charge: dict[str, float]) -> str:
    if not charge["wall_s"]:
        return "none"
    return f"{charge['wall_s']:.0f} s, {charge['cpu_s']:.0f} s CPU, {charge['bytes_rewritten'] / 1e6:.0f} MB rewritten"


def page(raw: Raw) -> str:
    rows = summary(raw)
    head = [
        "# planopt against what people would do instead",
        "",
        f'Written by `make bench ARGS="{_arguments(raw)} --page docs/benchmark.md"`; the raw numbers are in '
        "[benchmark.json](benchmark.json).",
        "",
        f"{len(raw['clocks']['original'])} queries over TPC-H tables at scale {raw['scale']:g}, made of 266 appends. "
        f"All arms ran interleaved, {_sessions(raw)}. One round warms up, {raw['rounds']} count. Every result was "
        f"compared with that of original{_varying(raw)}. Totals are medians over rounds, of the "
        f'{len(complete(raw))} queries that every arm finished. "Times less" is original divided by the arm, with '
        f"its {CONFIDENCE:.0%} interval. CPU is that of the program's threads, without the JVM's compiler and "
        "collector. The cost of an arm is what making it took, whole process: rewrites, for planopt the whole loop.",
        "",
        "| arm | CPU s | times less | wall s | times less | failed | results differ | queries worse | cost |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    body = [
        f"| {WORDS[r['arm']]} | {r['cpu']:.1f} | {_less(raw, r['cpu_less'])} "
        f"| {r['wall']:.1f} | {_less(raw, r['wall_less'])} "
        f"| {r['failures']} | {r['different']} | {', '.join(r['worse']) or 'none'} "
        f"| {_cost(raw['charges'][r['arm']])} |"
        for r in rows
    ]
    return "\n".join([*head, *body, "", *_queries(raw), ""])


def _arguments(raw: Raw) -> str:
    words = f"arms --queries {raw['queries']} --scale {raw['scale']:g} --rounds {raw['rounds']}"
    only = f" --only {' '.join(raw['only'])}" if raw["only"] else ""
    arms = list(raw["clocks"])
    return f"{words}{only}" + ("" if arms == list(WORDS) else f" --arms {' '.join(arms)}")


def _sessions(raw: Raw) -> str:
    return "in one session" if raw["sessions"] == 1 else f"in {raw['sessions']} sessions one after the other"


def _varying(raw: Raw) -> str:
    named = ", ".join(sorted(varying(raw)))
    return f", except those of {named}, which differ from run to run under original too" if named else ""


def _queries(raw: Raw) -> list[str]:
    arms = list(raw["clocks"])
    lines = ["## CPU seconds by query", "", f"| query | {' | '.join(arms)} |", f"|---|{'---|' * len(arms)}"]
    for query in raw["clocks"]["original"]:
        cells = [raw["clocks"][arm][query] for arm in arms]
        lines.append(f"| {query} | {' | '.join(_cell(c) for c in cells)} |")
    return lines


def _cell(clocks: dict[str, Any]) -> str:
    return f"{median(clocks['cpu']):.2f}" if clocks["cpu"] and not clocks["failures"] else "failed"
