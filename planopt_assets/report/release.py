"""The release gate's answers for people and for CI: a terminal table, Markdown for a pull request, JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from planopt_assets.model.printable import printable

if TYPE_CHECKING:
    from planopt_assets.loop.release.gate import Released

_MARKS = {"failed": "❌ regression", "warned": "⚠️ look", "passed": "✅ passed"}
_MOST_DIFF_LINES = 60


def summary(answers: Sequence[Released]) -> str:
    """
    >>> summary([])
    'release gate: no query changed'
    """
    counts = {word: sum(a.outcome == word for a in answers) for word in ("failed", "warned", "passed")}
    changed = sum(a.change in ("changed", "added", "removed") for a in answers)
    if not changed:
        return "release gate: no query changed"
    return (
        f"release gate: {changed} of {len(answers)} queries changed; "
        f"{counts['failed']} failed, {counts['warned']} to look at, {counts['passed']} passed"
    )


def lines(answer: Released) -> list[str]:
    """What is said about one query, one fact per line."""
    return [f"{f.severity}: {f.kind}: {f.words}" for f in answer.findings]


def release_markdown(answers: Sequence[Released], baseline: str) -> str:
    """A comment for a pull request: one table, then the plan changes, folded."""
    shown = [a for a in answers if a.change not in ("same", "spelling")]
    out = [f"### planopt: {summary(answers)}", "", f"Compared with `{baseline}`.", ""]
    if shown:
        out += ["| query | outcome | what changed | findings |", "|---|---|---|---|"]
        out += [
            f"| `{a.query_id}` | {_MARKS[a.outcome]} | {a.change}: {_cell(a.words)} | {_cell('; '.join(lines(a)))} |"
            for a in shown
        ]
    for answer in shown:
        if answer.plan_diff:
            diff = answer.plan_diff.splitlines()
            more = [f"… {len(diff) - _MOST_DIFF_LINES} lines more"] if len(diff) > _MOST_DIFF_LINES else []
            fenced = "\n".join([*diff[:_MOST_DIFF_LINES], *more])
            out += ["", f"<details><summary>plan of <code>{answer.query_id}</code></summary>", ""]
            out += ["```diff", fenced, "```", "", "</details>"]
    return printable("\n".join(out)) + "\n"


def release_junit(answers: Sequence[Released], workload: str) -> str:
    """One test case per query: errors are failures, warnings go to its output."""
    failed = sum(a.outcome == "failed" for a in answers)
    suite = Xml.Element("testsuite", name=f"planopt gate {workload}", tests=str(len(answers)), failures=str(failed))
    for answer in answers:
        case = Xml.SubElement(suite, "testcase", classname=f"planopt.{workload}", name=answer.query_id)
        said = [printable(line) for line in lines(answer)]
        if answer.outcome == "failed":
            first = next(f for f in answer.findings if f.severity == "error")
            failure = Xml.SubElement(case, "failure", message=printable(first.words), type=first.kind)
            failure.text = "\n".join(said)
        elif said:
            Xml.SubElement(case, "system-out").text = "\n".join(said)
    return Xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ") or "-"
