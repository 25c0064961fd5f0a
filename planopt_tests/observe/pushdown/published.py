"""The labelled set as the table in `docs/pushdown.md`; run as a module it writes that table."""

from __future__ import annotations

from planopt_tests.fresh_python import ROOT
from planopt_tests.observe.pushdown.labelled import CASES, Case

DOCUMENT = ROOT / "docs" / "pushdown.md"
START, END = "<!-- labelled predicates -->", "<!-- end -->"


def table() -> str:
    rows = [_row(case) for case in CASES]
    return "\n".join(
        ["| table | predicate | outcome | cause | finding | because |", "|---|---|---|---|---|---|", *rows]
    )


def published(text: str) -> str:
    """The document with the table between its marks replaced."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{table()}\n{END}{after}"


def _row(case: Case) -> str:
    predicate = f"`{case.predicate}`" if case.predicate else "none"
    settings = "".join(f", `{name}={value}`" for name, value in case.settings.items())
    cells = [case.table, predicate + settings, case.outcome, case.cause, "yes" if case.finding else "", case.because]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    DOCUMENT.write_text(published(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
