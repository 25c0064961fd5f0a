"""Export of policies in force for jobs that do not use planopt: settings, and SQL with hints and rewrites. Pure."""

from __future__ import annotations

import pprint
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from planopt_assets.decide.parallelism import by_cores, remark
from planopt_assets.engine.frames.carried import not_carried
from planopt_assets.errors import NotExportable
from planopt_assets.job.json_stream import json_object
from planopt_assets.model.conditions import Conditions
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import Promotion
from planopt_assets.model.redaction import redact
from planopt_assets.model.workload import Query
from planopt_assets.replan.hinted_sql import hinted_sql
from planopt_assets.replan.rewritten_sql import rewritten_sql

Format = Literal["spark-defaults", "submit", "sql", "json", "python"]
SETTINGS_ONLY = ("spark-defaults", "submit")


@dataclass(frozen=True, slots=True)
class Exported:
    """One query: its policy in force, and its text with hints and rewrites.

    A policy is exported whole or not at all: half a policy was never proven.
    """

    query_id: str
    generation: int
    policy: Policy
    promotion_id: str | None
    sql: str | None  # with hints and rewrites; None if the query is Python or its text has a secret
    missing: str = ""  # why no format can hold the policy
    own: tuple[tuple[str, str], ...] = ()  # the user's own values of what the policy sets, by the workload file
    suspended: str = ""  # why it is exported as original
    conditions: Conditions | None = None  # where it was proven: nobody checks it after the export
    plain: str | None = None  # where no format can hold the policy: the text as it is

    @property
    def headline(self) -> str:
        if self.suspended:
            return f"{self.query_id}: original, nothing to set: {self.suspended}"
        if self.policy == ORIGINAL:
            return f"{self.query_id}: original, nothing to set"
        return f"{self.query_id}, generation {self.generation}: {self.policy.describe()}"

    @property
    def remarks(self) -> list[str]:
        """What is to be said of it in comments: the policy, and whether it fits another cluster."""
        said = "" if self.missing else remark(by_cores(self.policy))
        return [self.headline, *([said] if said else [])]

    def why_not(self, form: Format) -> str:
        """Why this format cannot hold the policy. Empty if it can."""
        if self.missing:
            return self.missing
        if self.policy.needs_text and form in SETTINGS_ONLY:
            return "hints and rewrites need the query's text: use `--format sql`"
        return ""

    def facts(self) -> dict[str, Any]:
        return {
            "id": self.query_id,
            "generation": self.generation,
            "promotion_id": self.promotion_id,
            "policy_id": self.policy.id,
            **self.policy.facts(),
            "depends_on_cores": list(by_cores(self.policy)),
            "sql": self.sql,
            "not_exported": self.missing or None,
            "suspended": self.suspended or None,
            "conditions": self.conditions.facts() if self.conditions else None,
        }


def exported(
    query: Query, promotion: Promotion | None, session: Iterable[tuple[str, str]] = (), suspended: str = ""
) -> Exported:
    """A query with its policy in force, ready for export; as original while that is suspended.

    `session` is what the workload file sets.
    """
    policy = promotion.policy if promotion and not suspended else ORIGINAL
    text, missing = _text(query, policy)
    generation = promotion.generation if promotion else 0
    return Exported(
        query.id,
        generation,
        policy,
        promotion.id if promotion else None,
        text,
        missing,
        own=tuple((name, value) for name, value in session if name in dict(policy.settings)),
        suspended=f"generation {generation} is suspended: {suspended}" if suspended else "",
        conditions=promotion.conditions if promotion else None,
        plain=_text(query, ORIGINAL)[0] if missing else None,
    )


def _text(query: Query, policy: Policy) -> tuple[str | None, str]:
    if why := not_carried(policy):
        return None, why
    if query.sql is None:
        return None, "a Python query has no text for hints: use `tuned(…).run`" if policy.needs_text else ""
    if redact(query.sql) != query.sql:
        return None, "the text has a secret and is not written" if policy.needs_text else ""
    if typed := [spec.name for spec in policy.rewrite_specs if spec.by_types]:
        return None, f"rewrite {typed[0]} goes by the types of the tables at each run: use `tuned(…).sql`"
    rewritten, idle = rewritten_sql(query.sql, policy.rewrites)
    if idle:
        return None, f"rewrite {idle[0]} finds nothing to change in the text"
    written = hinted_sql(rewritten, policy.hints)
    if written.left_out:
        hint, why = written.left_out[0]
        return None, f"{hint} cannot be written into the text: {why}; use `tuned(…).sql`"
    return written.sql, ""


def rendered(workload: str, queries: Iterable[Exported], form: Format) -> Iterator[str]:
    """All queries in one output, in pieces. A query that is not exported is named with the reason.

    The next query is read only after the previous one is written, so only one text is in memory.

    >>> one = Exported("by_shop", 1, Policy.of({"spark.sql.shuffle.partitions": "2"}), "pro-by_shop-g1", "SELECT 1")
    >>> print(*rendered("sales", [one], "submit"), sep="", end="")
    # by_shop, generation 1: shuffle.partitions=2
    # spark.sql.shuffle.partitions depends on the number of cores: measure it again on a cluster with another number
    # paste this command and add your application at its end
    spark-submit \\
      --conf spark.sql.shuffle.partitions=2 \\
    """
    if form == "json":
        yield from json_object({"workload": workload}, "queries", (q.facts() for q in queries))
        yield "\n"
    elif form == "python":
        yield from _python(workload, queries)
    elif form == "sql":
        yield from _statements(queries)
    else:
        yield from _application(queries, form)


def settings_lines(settings: dict[str, str], form: Format) -> Iterator[str]:
    """The settings of an application."""
    if form == "submit" and settings:  # comments cannot stand inside a command that goes over several lines
        yield "# paste this command and add your application at its end\nspark-submit \\\n"
    for name, value in settings.items():
        yield f"  --conf {shlex.quote(f'{name}={value}')} \\\n" if form == "submit" else f"{name} {value}\n"


def _statements(queries: Iterable[Exported]) -> Iterator[str]:
    for position, query in enumerate(queries):
        why = query.why_not("sql")
        lines = [f"-- {said}" for said in query.remarks]
        lines += [f"-- not exported: {why}"] if why else _sql(query)
        yield ("\n" if position else "") + "\n".join(lines) + "\n"


def _application(queries: Iterable[Exported], form: Format) -> Iterator[str]:
    """Every query in comments, then the settings that all of them share."""
    application = _Application(form)
    for query in queries:
        why = query.why_not(form)
        application.take(query.query_id, {} if why else dict(query.policy.settings))
        remarks = [query.headline, f"not exported: {why}"] if why else query.remarks
        yield "".join(f"# {said}\n" for said in remarks)
    yield from settings_lines(application.settings, form)


class _Application:
    """Settings of a whole application. Two queries with different values for one setting cannot share it.

    Not set is a value too: the policy of one query was never proven for the others.
    """

    def __init__(self, form: Format) -> None:
        self._form = form
        self._first: str | None = None  # the query whose settings the others must have
        self.settings: dict[str, str] = {}

    def take(self, query_id: str, settings: dict[str, str]) -> None:
        if self._first is None:
            self._first, self.settings = query_id, settings
        if (name := _differing(self.settings, settings)) is None:
            return
        raise NotExportable(
            f"{name} is {self.settings.get(name, 'not set')} for {self._first} and {settings.get(name, 'not set')} "
            f"for {query_id}; an application has one value",
            where=self._form,
            fix="export one query at a time, or use `--format sql` or `--format python`",
        )


def _differing(one: dict[str, str], other: dict[str, str]) -> str | None:
    return next((name for name in {**one, **other} if one.get(name) != other.get(name)), None)


def _sql(query: Exported) -> list[str]:
    """The query between two SETs, so the settings hold for this query only, and yours are there again after it.

    SQL cannot ask for a setting. Your value is the one that the workload file declares. Where it declares none, RESET
    brings back that of the application.
    """
    settings, own = query.policy.settings, dict(query.own)
    after = [set_back(name, own) for name, _ in settings]
    return [*(f"SET {name}={value};" for name, value in settings), statement(query.sql), *after]


def set_back(name: str, own: Mapping[str, str]) -> str:
    """What brings back the value that held before: the declared one, else that of the application."""
    return f"SET {name}={own[name]};" if name in own else f"RESET {name};"


def statement(sql: str | None) -> str:
    """The text with one semicolon."""
    return f"{sql.strip().removesuffix(';').rstrip()};" if sql else "-- run the query here"


def _python(workload: str, queries: Iterable[Exported]) -> Iterator[str]:
    yield (
        f'"""Settings in force for workload {workload}, by `planopt export`. They work without planopt."""\n'
        "\n"
        "SETTINGS = {}\n"
        "SQL = {}  # queries whose policy has hints or rewrites\n"
    )
    for query in queries:
        yield "\n" + "".join(f"# {said}\n" for said in query.remarks)
        if query.missing:
            yield f"# not exported: {query.missing}\n"
            continue
        yield f"SETTINGS[{query.query_id!r}] = {pprint.pformat(dict(query.policy.settings), width=100)}\n"
        if query.policy.needs_text:
            yield f"SQL[{query.query_id!r}] = {pprint.pformat(query.sql, width=100)}\n"
    yield (
        "\n\n"
        "def session_for(spark, query_id):\n"
        '    """A new session with the settings. It has no temporary views or functions of `spark`."""\n'
        "    session = spark.newSession()\n"
        "    for name, value in SETTINGS[query_id].items():\n"
        "        session.conf.set(name, value)\n"
        "    return session\n"
    )
