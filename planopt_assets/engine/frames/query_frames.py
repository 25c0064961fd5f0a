"""Queries as DataFrames in an arm: settings and tables come with the session, rewrites and hints with text or plan.

Nothing of a query gets past here without the gate, and the gate sees what really runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.engine.delta.registry import missing_relation
from planopt_assets.engine.frames.callables import build_frame
from planopt_assets.engine.frames.carried import check_carried
from planopt_assets.engine.frames.hints import JoinHints
from planopt_assets.engine.frames.policy_text import PolicyText, policy_text
from planopt_assets.engine.gate.sql_gate import analysis_gate, parse_gate
from planopt_assets.engine.jvm.bridge import jvm_of
from planopt_assets.errors import PlanoptError, PolicyNotApplied, QueryFailed, SqlRefused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from planopt_assets.engine.delta.registry import Registry
    from planopt_assets.model.arm import Arm, Tables
    from planopt_assets.model.workload import Query, Workload

_Key = tuple[str, int, str]  # query, binding, arm


class QueryFrames:
    """Builds frames, and remembers of each what the gate saw and which text its policy made of it."""

    def __init__(self, workload: Workload, registry: Registry) -> None:
        self._workload, self._registry = workload, registry
        self._joins: JoinHints | None = None
        self._texts: dict[_Key, PolicyText] = {}
        self._gated: dict[_Key, frozenset[str]] = {}  # -> names of the tables it reads
        self._blocked: dict[str, tuple[str, ...]] = {}  # query -> tables it names that cannot be read

    def frame(self, session: SparkSession, query: Query, binding: int, arm: Arm) -> DataFrame:
        """The query in an arm, in the session that has its settings and tables; built anew each time.

        Anew because `rand()` draws its seed at analysis: a kept frame would hide that a result varies. Where a hint or
        a rewrite finds nothing to change, that is an error: under the policy's name nothing else may run.
        """
        check_carried(arm.policy)
        try:
            if query.sql is None:
                return self._of_callable(session, query, binding, arm)
            return self._of_text(session, query, query.sql, binding, arm)
        except PlanoptError:
            raise
        except Exception as error:  # Spark's analyzer and the user's callable: the boundary where it becomes ours
            if blamed := self._registry.blamed(error):
                self._blocked[query.id] = blamed
                raise self._registry.unusable[blamed[0]] from error
            raise _as_ours(query, error) from error

    def tables_read(self, query: Query, arm: Arm) -> Tables:
        """The tables of an arm that a query names, as the gate saw them; all of them where it never got that far.

        Which names a query reads does not depend on where their tables are: what was seen in one arm holds in all.
        """
        if query.id in self._blocked:
            return tuple(t for t in arm.tables if t.name in self._blocked[query.id])
        gated = [names for (query_id, _, _), names in self._gated.items() if query_id == query.id]
        named = frozenset[str]().union(*gated)
        return tuple(t for t in arm.tables if t.name in named) if gated else arm.tables

    def forget(self) -> None:
        self._texts.clear()
        self._gated.clear()

    def forget_session(self) -> None:
        """The session is another one; what the gate saw, and the texts, are the same in it."""
        self._joins = None

    def _join_hints(self, session: SparkSession) -> JoinHints:
        self._joins = self._joins or JoinHints(jvm_of(session))
        return self._joins

    def _of_callable(self, session: SparkSession, query: Query, binding: int, arm: Arm) -> DataFrame:
        policy = arm.policy
        if policy.rewrites:
            raise PolicyNotApplied(
                f"rewrite not applied: {policy.rewrites[0]} is for SQL, the query is Python",
                where=f"query {query.id}",
                fix="decide again for the query as it is now",
            )
        frame = build_frame(self._workload, query, session, dict(query.bindings[binding]))
        if policy.hints:
            frame = self._join_hints(session).hinted(frame, policy.hints)
        self._gated[query.id, binding, arm.id] = self._analysis_gate(session, query, frame, arm)
        return frame

    def _of_text(self, session: SparkSession, query: Query, sql: str, binding: int, arm: Arm) -> DataFrame:
        key = (query.id, binding, arm.id)
        parameters = dict(query.bindings[binding])

        def analysed(text: str) -> DataFrame:
            if key not in self._gated:
                parse_gate(session, query.id, text, self._registry.relations(arm))
            return session.sql(text, args=parameters or None)

        if key not in self._texts:
            self._texts[key] = policy_text(sql, arm.policy, analysed, self._join_hints(session))
        text = self._texts[key]
        frame = analysed(text.sql)
        if text.plan_hints:
            frame = self._join_hints(session).hinted(frame, text.plan_hints)
        if key not in self._gated:
            self._gated[key] = self._analysis_gate(session, query, frame, arm)
        return frame

    def _analysis_gate(self, session: SparkSession, query: Query, frame: DataFrame, arm: Arm) -> frozenset[str]:
        """The names of the tables that a frame reads, once all of them are the arm's."""
        registered, allow_python = self._registry.relations(arm), self._workload.allow_python
        paths = analysis_gate(session, query.id, frame, registered, allow_python)
        read = {registered.name_at(path) for path in paths}
        return frozenset(t.name for t in arm.tables if registered.name_at(t.location) in read)


def _as_ours(query: Query, error: Exception) -> PlanoptError:
    """Spark's error in the words of the workload file, if the mistake is in that file."""
    if relation := missing_relation(error):
        name = relation.replace("`", "")  # the quotes between the parts of a name
        return SqlRefused(f"`{name}` is not a registered table", query_id=query.id, part=name)
    where = f"query {query.id}"
    if getattr(error, "getCondition", lambda: None)() == "UNBOUND_SQL_PARAMETER":
        named: dict[str, str] = getattr(error, "getMessageParameters", dict)()
        parameter = named.get("name", "")
        return QueryFailed(
            f"its parameter :{parameter} has no value",
            where=where,
            fix=f"give it one in the query's `parameters:` in the workload file, `- {{{parameter}: …}}`",
        )
    line = str(error).strip().splitlines()[0][:400]
    return QueryFailed(line, where=where, fix="correct the query or the tables it names")
