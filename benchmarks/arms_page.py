"""The page of the benchmark, from its raw numbers alone: the same numbers give the same page."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.arms_names import BY_DEFAULT, ON_REQUEST, WORDS
from benchmarks.arms_numbers import CONFIDENCE, Raw, summary, totalled, varying
from benchmarks.arms_words import sentences

_APPENDS = 266  # of raw numbers that do not say it
_SUITES = {"demo": "TPC-H", "tpch": "TPC-H", "tpcds": "TPC-DS"}


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
    lines.append(
        f"{len(totalled(raw))} queries in {raw['rounds']} rounds; an arm that fails some is compared on the others"
    )
    return "\n".join([*lines, *sentences(raw)])


def _less(raw: Raw, ratio: Any) -> str:
    if raw["rounds"] < 2:
        return f"{ratio.ratio:.2f} (one round)"
    return f"{ratio.ratio:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"


def _cost(charge: dict[str, float]) -> str:
    if not any(charge.values()):
        return "none"
    ran = f", {charge['executions']} executions" if charge.get("executions") else ""
    rewritten = f"{charge['bytes_rewritten'] / 1e6:.0f} MB rewritten"
    return f"{charge['wall_s']:.0f} s, {charge['cpu_s']:.0f} s CPU, {rewritten}{ran}"


def page(raw: Raw, file: str = "benchmark") -> str:
    """The page of this name, without its ending; the raw numbers are beside it."""
    rows = summary(raw)
    head = [
        "# planopt against what people would do instead",
        "",
        f'Written by `make bench ARGS="{_arguments(raw)} --page docs/{file}.md"`; the raw numbers are in '
        f"[{file}.json]({file}.json).",
        "",
        f"{len(raw['clocks']['original'])} queries over {_SUITES[raw['queries']]} tables at scale {raw['scale']:g}, "
        f"made of {raw.get('appends', _APPENDS)} appends{_machine(raw)}. All arms ran interleaved, {_sessions(raw)}, "
        f"one query after the other. Two rounds of a query warm up, {raw['rounds']} count. Every result was compared "
        f"with that of original{_varying(raw)}. Totals are medians over rounds, of {len(totalled(raw))} queries. "
        "An arm that fails some of them is compared with original on the others. "
        f'"Times less" is original divided by the arm, with its {CONFIDENCE:.0%} interval. CPU is that of '
        "the program's threads, without the JVM's compiler and collector. The cost of an arm is what making it took, "
        "whole process: rewrites, for planopt the whole loop, for tuners all they tried.",
        "",
        "| arm | CPU s | times less | wall s | times less | failed | results differ | queries worse | cost |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    body = [
        f"| {WORDS[r['arm']]} | {r['cpu']:.1f} | {_less(raw, r['cpu_less'])} "
        f"| {r['wall']:.1f} | {_less(raw, r['wall_less'])} "
        f"| {_failed(raw, r)} | {r['different']} | {', '.join(r['worse']) or 'none'} "
        f"| {_cost(raw['charges'][r['arm']])} |"
        for r in rows
    ]
    return "\n".join([*head, *body, "", *(f"- {words}" for words in sentences(raw)), "", *_queries(raw), ""])


def _failed(raw: Raw, row: dict[str, Any]) -> str:
    fewer = row["queries"] < len(totalled(raw))
    return f"{row['failures']} (totals of {row['queries']} queries)" if fewer else str(row["failures"])


def _arguments(raw: Raw) -> str:
    words = f"arms --queries {raw['queries']} --scale {raw['scale']:g} --rounds {raw['rounds']}"
    words += f" --budget {raw['budget']}" if "budget" in raw else ""
    only = f" --only {' '.join(raw['only'])}" if raw["only"] else ""
    arms = list(raw["clocks"])
    if arms == [*BY_DEFAULT, *ON_REQUEST]:
        return f"{words}{only} --grid"
    return f"{words}{only}" + ("" if arms == list(BY_DEFAULT) else f" --arms {' '.join(arms)}")


def _machine(raw: Raw) -> str:
    """Raw numbers of an older benchmark do not say it."""
    return f", on {raw['cores']} cores with {raw['memory']} of driver memory" if "cores" in raw else ""


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
