"""The text of a query as a policy wants it: rewritten, then hinted as far as a text can carry it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.engine.gate.sql_gate import replaced_functions
from planopt_assets.engine.results.columns import columns_text
from planopt_assets.errors import PolicyNotApplied
from planopt_assets.replan.hinted_sql import hinted_sql
from planopt_assets.replan.rewritten_sql import rewritten_sql

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from planopt_assets.engine.frames.hints import JoinHints
    from planopt_assets.model.hint import Hint
    from planopt_assets.model.policy import Policy
    from planopt_assets.replan.column_types import Columns

_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"  # where Spark keeps it


@dataclass(frozen=True, slots=True)
class PolicyText:
    """What Spark is given under a policy, and the hints that must go into the plan it makes of it."""

    sql: str
    plan_hints: tuple[Hint, ...] = ()
    rests_on: tuple[tuple[str, Columns | None], ...] = ()  # the tables that a rewrite asked about, as they were then


def policy_text(sql: str, policy: Policy, analysed: Callable[[str], DataFrame], joins: JoinHints) -> PolicyText:
    """The text to run; `analysed` turns a text into a frame, once the gate has let it through.

    A hint is written into the text only where Spark then finds it on exactly the join it is for. Nothing is assumed:
    the hints of both analysed plans are compared. Where they are not as expected, all go into the plan.
    """
    rewritten, rests_on = _rewritten(sql, policy, analysed)
    hints = policy.hints
    if not hints:
        return PolicyText(rewritten, rests_on=rests_on)
    written = hinted_sql(rewritten, hints)
    left_out = tuple(hint for hint, _ in written.left_out)
    if len(left_out) < len(hints):
        expected = joins.carried(analysed(rewritten))
        for hint in hints:
            if hint not in left_out:
                place = (hint.join, hint.side)
                expected[place] = (*expected.get(place, ()), hint.strategy)
        if joins.carried(analysed(written.sql)) == expected:
            return PolicyText(written.sql, left_out, rests_on)
    return PolicyText(rewritten, hints, rests_on)


def _rewritten(
    sql: str, policy: Policy, analysed: Callable[[str], DataFrame]
) -> tuple[str, tuple[tuple[str, Columns | None], ...]]:
    """The text with the policy's rewrites, and the columns they rest on. The result has the columns that it had."""
    if not policy.rewrites:
        return sql, ()
    before = analysed(sql)
    session = before.sparkSession
    known: dict[str, Columns | None] = {}

    def columns_of(name: str) -> Columns | None:
        if name not in known:
            known[name] = table_columns(session, name)
        return known[name]

    rewritten, idle = rewritten_sql(sql, policy.rewrites, columns_of)
    if idle:
        raise PolicyNotApplied(
            f"rewrite not applied: {idle[0]} leaves the text as it is", fix="decide again for the query as it is now"
        )
    written = tuple(name for spec in policy.rewrite_specs for name in spec.functions)
    if known and (replaced := replaced_functions(session, written)):
        raise PolicyNotApplied(
            f"rewrite not applied: `{replaced[0]}` is a function of the session", fix="run the query as original"
        )
    if columns_text(analysed(rewritten).schema) != columns_text(before.schema):
        raise PolicyNotApplied(
            f"rewrite not applied: {policy.rewrites[0]} changes the columns of the result",
            fix="run the query as original",
        )
    return rewritten, tuple(known.items())


def check_columns(session: SparkSession, text: PolicyText) -> None:
    """An error where a table has got other columns since the text was rewritten: the proof was about the old ones.

    To be asked last, once the frame that will run is analysed: what is the same before and after, was so in between.
    """
    if changed := [name for name, columns in text.rests_on if table_columns(session, name) != columns]:
        raise PolicyNotApplied(
            f"rewrite not applied: the columns of {changed[0]} have just changed", fix="run the query as original"
        )


def table_columns(session: SparkSession, name: str) -> Columns | None:
    """The columns that a name has in a session: in lower case, with their types.

    None: it means nothing there by itself, as a name that a text defines, or two columns are not told apart.
    CHAR and VARCHAR are strings for Spark that it pads or checks: the type that was declared counts.
    """
    from pyspark.errors import AnalysisException

    try:
        fields = session.table(name).schema.fields
    except AnalysisException:
        return None
    columns = {f.name.lower(): f.metadata.get(_DECLARED, f.dataType.simpleString()) for f in fields}
    return columns if len(columns) == len(fields) else None
