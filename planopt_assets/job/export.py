"""The policies in force as texts for jobs that do not use planopt: settings, and SQL that carries the rest. Pure."""

from __future__ import annotations

import json
import pprint
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from planopt_assets.engine.frames.carried import not_carried
from planopt_assets.errors import NotExportable
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import Promotion
from planopt_assets.model.redaction import redact
from planopt_assets.model.workload import Query
from planopt_assets.replan.hinted_sql import hinted_sql
from planopt_assets.replan.rewritten_sql import rewritten_sql

Format = Literal["spark-defaults", "submit", "sql", "json", "python"]
_SETTINGS_ONLY = ("spark-defaults", "submit")


@dataclass(frozen=True, slots=True)
class Exported:
    """One query: its policy in force, the text that carries what settings cannot, and why there is none.

    A policy is exported whole or not at all: half of it was never proven.
    """

    query_id: str
    generation: int
    policy: Policy
    promotion_id: str | None
    sql: str | None  # with hints and rewrites; None where the query is Python or its text must not be shown
    missing: str = ""  # why nothing can carry the policy

    @property
    def headline(self) -> str:
        if self.policy == ORIGINAL:
            return f"{self.query_id}: original, nothing to set"
        return f"{self.query_id}, generation {self.generation}: {self.policy.describe()}"

    def why_not(self, form: Format) -> str:
        """Why this form cannot carry the policy; empty where it can."""
        if self.missing:
            return self.missing
        if self.policy.needs_text and form in _SETTINGS_ONLY:
            return "hints and rewrites need the query's text: use `--format sql`"
        return ""

    def facts(self) -> dict[str, Any]:
        return {
            "id": self.query_id,
            "generation": self.generation,
            "promotion_id": self.promotion_id,
            "policy_id": self.policy.id,
            **self.policy.facts(),
            "sql": self.sql,
            "not_exported": self.missing or None,
        }


def exported(query: Query, promotion: Promotion | None) -> Exported:
    """A query with its policy in force, in the form in which others can use it."""
    policy = promotion.policy if promotion else ORIGINAL
    text, missing = _text(query, policy)
    generation = promotion.generation if promotion else 0
    return Exported(query.id, generation, policy, promotion.id if promotion else None, text, missing)


def _text(query: Query, policy: Policy) -> tuple[str | None, str]:
    if why := not_carried(policy):
        return None, why
    if query.sql is None:
        return None, "hints of a Python query have no text to stand in: use `tuned(…).run`" if policy.needs_text else ""
    if redact(query.sql) != query.sql:
        return None, "the text holds a secret and is not written" if policy.needs_text else ""
    rewritten, idle = rewritten_sql(query.sql, policy.rewrites)
    if idle:
        return None, f"rewrite {idle[0]} finds nothing to change in the text"
    written = hinted_sql(rewritten, policy.hints)
    if written.left_out:
        hint, why = written.left_out[0]
        return None, f"no text can carry {hint}: {why}; use `tuned(…).sql`"
    return written.sql, ""


def rendered(workload: str, queries: Sequence[Exported], form: Format) -> str:
    """All queries in one text, which says of each whether it is in it.

    >>> one = Exported("by_shop", 1, Policy.of({"spark.sql.shuffle.partitions": "2"}), "pro-by_shop-g1", "SELECT 1")
    >>> print(rendered("sales", [one], "submit"), end="")
    # by_shop, generation 1: shuffle.partitions=2
    --conf spark.sql.shuffle.partitions=2
    """
    if form == "json":
        return json.dumps({"workload": workload, "queries": [q.facts() for q in queries]}, indent=2) + "\n"
    if form == "python":
        return _python(workload, queries)
    if form in _SETTINGS_ONLY:
        check_one_session(queries, form)
    comment = "--" if form == "sql" else "#"
    blocks = []
    for query in queries:
        why = query.why_not(form)
        lines = [f"{comment} {query.headline}"]
        lines += [f"{comment} not exported: {why}"] if why else _LINES[form](query)
        blocks.append("\n".join(lines) + "\n")
    return ("\n" if form == "sql" else "").join(blocks)


def check_one_session(queries: Sequence[Exported], form: Format) -> None:
    """These settings hold for a whole application: two queries that want different values cannot share it."""
    seen: dict[str, tuple[str, str]] = {}
    for query in (q for q in queries if not q.why_not(form)):
        for name, value in query.policy.settings:
            other, its_value = seen.setdefault(name, (query.query_id, value))
            if its_value != value:
                raise NotExportable(
                    f"{name} is {its_value} for {other} and {value} for {query.query_id}, an application has one value",
                    where=form,
                    fix="export one query at a time, or use `--format sql` or `--format python`",
                )


def _defaults(query: Exported) -> list[str]:
    return [f"{name} {value}" for name, value in query.policy.settings]


def _submit(query: Exported) -> list[str]:
    return [f"--conf {shlex.quote(f'{name}={value}')}" for name, value in query.policy.settings]


def _sql(query: Exported) -> list[str]:
    """The query between SET and RESET, so that the settings hold for it and for nothing after it."""
    settings = query.policy.settings
    text = [f"{query.sql.strip().removesuffix(';').rstrip()};"] if query.sql else ["-- run the query here"]
    return [*(f"SET {name}={value};" for name, value in settings), *text, *(f"RESET {name};" for name, _ in settings)]


_LINES = {"spark-defaults": _defaults, "submit": _submit, "sql": _sql}


def _python(workload: str, queries: Sequence[Exported]) -> str:
    fit = [q for q in queries if not q.why_not("python")]
    settings = {q.query_id: dict(q.policy.settings) for q in fit}
    texts = {q.query_id: q.sql for q in fit if q.policy.needs_text}
    notes = "".join(f"# {q.headline}\n# not exported: {q.missing}\n" for q in queries if q.missing)
    return (
        f'"""Settings in force for workload {workload}, by `planopt export`; planopt is not needed to use them."""\n'
        f"\n{notes}"
        f"SETTINGS = {pprint.pformat(settings, width=110)}\n"
        f"SQL = {pprint.pformat(texts, width=110)}  # where hints or rewrites are part of the policy\n"
        "\n\n"
        "def session_for(spark, query_id):\n"
        '    """A session in which the settings hold; temporary views and functions of `spark` are not in it."""\n'
        "    session = spark.newSession()\n"
        "    for name, value in SETTINGS[query_id].items():\n"
        "        session.conf.set(name, value)\n"
        "    return session\n"
    )
