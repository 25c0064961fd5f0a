"""`tuned`: a query of the user's own job under the policy in force, and a record of how it really ran.

Whatever is wrong with planopt, the query runs: as original, in time, and with the reason in the log.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.frames.callables import build_frame
from planopt_assets.errors import NothingToRun, PlanoptError
from planopt_assets.job.in_force import InForce, read_in_force
from planopt_assets.job.production_log import LOG, ProductionLog, Use, first_line, flush_all
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.observe.sql.same_query import same_text, why_different

if TYPE_CHECKING:
    from planopt_assets.engine.user_job.policy_session import PolicySession
    from planopt_assets.engine.user_job.user_session import DataFrame, SparkSession
    from planopt_assets.model.workload import Workload

TIMEOUT_S = 2.0
_NO_FRAME = "the policy cannot be applied: hints need a frame to go into, and the job returns none"


def tuned(
    spark: SparkSession,
    query_id: str,
    workload: Workload | str | os.PathLike[str] = "planopt.yaml",
    *,
    timeout_s: float = TIMEOUT_S,
    run_id: str | None = None,
) -> Tuned:
    """A query of the workload, to be run in the user's session under the policy in force for it.

        with tuned(spark, "orders_by_day") as query:
            query.sql().write.format("delta").save(target)

    The store is read once, here, without Spark. At the end of the block what ran is recorded with purpose `production`;
    without a block, that happens at the next `tuned`, or when Python ends. `run_id` goes into these rows.
    """
    flush_all()
    found = read_in_force(workload, query_id, timeout_s=timeout_s)
    return Tuned(spark, found, ProductionLog(found, timeout_s, run_id or str(uuid.uuid4())))


class Tuned:
    """One query of a user's job; every frame it gives belongs to a copy of the user's session, made for it alone."""

    def __init__(self, spark: SparkSession, found: InForce, log: ProductionLog) -> None:
        self._spark, self._found, self._log = spark, found, log
        self.policy: Policy = ORIGINAL if found.reason else found.policy
        """What the last frame runs under; before the first one, what it is going to be."""
        self.reason: str = found.reason
        """Why that is not the policy in force, or why there is none; empty where it is applied."""
        if found.failure is not None:
            LOG.warning("%s runs as original: %s", found.query_id, found.reason)

    @property
    def generation(self) -> int:
        """Of the policy in force; 0 where there is none, or none could be read."""
        return self._found.generation

    def facts(self) -> dict[str, Any]:
        """The same as plain data, for a log or the metadata of an asset."""
        return {
            "query": self._found.query_id,
            "generation": self.generation,
            "policy_id": self.policy.id,
            "policy": self.policy.describe(),
            "applied": not self.reason,
            "reason": self.reason,
        }

    def sql(self, text: str | None = None, args: Mapping[str, Any] | None = None) -> DataFrame:
        """The query as a frame: without `text` the workload's own, with its parameters where it has one set of them.

        Another spelling of the declared query is the declared query. Any other text runs in the user's session as it
        is and is not recorded: no policy was proven for it.
        """
        query = self._found.query
        if text is None:
            if query is None or query.sql is None:
                raise self._nothing_to_run("text")
            text = query.sql
            if args is None and len(query.bindings) == 1:
                args = dict(query.bindings[0])
        given = dict(args) if args else None
        if difference := self._difference(text):
            self._tell(ORIGINAL, difference)
            return self._spark.sql(text, args=given)
        wanted = text
        return self._frame(
            lambda session: session.sql(wanted, given), lambda: self._spark.sql(wanted, args=given), given
        )

    def frame(self, frame: DataFrame) -> DataFrame:
        """A frame the user built, to be planned and executed under the policy; the frame itself where it cannot be.

        Scan settings are those of the session a frame was built in: a policy that has some needs `run` or `sql`.
        """
        return self._frame(lambda session: session.adopt(frame), lambda: frame, None)

    def run(self, job: Callable[..., Any] | None = None, **parameters: Any) -> Any:
        """What `job(session, **parameters)` returns; without a job, the workload's own Python query.

        The job is called once. A frame it returns is planned under the policy, or as original where it cannot carry all
        of it. A job that runs actions itself does so under the policy, or as original where that has join hints.
        """
        query, workload = self._found.query, self._found.workload
        if job is not None:
            given = job
            return self._call(lambda session: given(session, **parameters), parameters, declared=False)
        if query is None or workload is None or query.python is None:
            raise self._nothing_to_run("callable")
        declared = parameters or (dict(query.bindings[0]) if len(query.bindings) == 1 else {})
        return self._call(lambda session: build_frame(workload, query, session, declared), declared, declared=True)

    def close(self) -> None:
        """Record what has run; never fails, and may be called again."""
        self._log.flush()

    def __enter__(self) -> Tuned:
        self._log.in_block = True
        return self

    def __exit__(self, *_: object) -> None:
        self._log.in_block = False
        self.close()

    def _frame(
        self,
        build: Callable[[PolicySession], DataFrame],
        plain: Callable[[], DataFrame],
        parameters: Mapping[str, Any] | None,
    ) -> DataFrame:
        """Under the policy; if it cannot be applied, in a copy as original; if that fails too, as without planopt.

        Nothing runs while a frame is built, so building again repeats nothing, and mistakes of the user's come back
        from the last attempt as Spark tells them.
        """
        policy, reason = (ORIGINAL, self._found.reason) if self._found.reason else (self._found.policy, "")
        for attempt in dict.fromkeys((policy, ORIGINAL)):
            try:
                session = self._open(attempt)
                frame = build(session)
            except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's query
                reason = reason or _not_applied(error)
            else:
                self._keep(session, attempt, reason, parameters, frame)
                return frame
        self._tell(ORIGINAL, reason)
        return plain()

    def _call(self, job: Callable[[Any], Any], parameters: Mapping[str, Any], *, declared: bool) -> Any:
        """What the job returns; it is called once, whatever becomes of the policy.

        Only a declared query is known to return a frame. Any other job may run actions, which hints cannot reach: with
        hints it is called as original, and the policy comes when there is a frame for it.
        """
        from planopt_assets.engine.user_job.user_session import DataFrame

        policy, reason = (ORIGINAL, self._found.reason) if self._found.reason else (self._found.policy, "")
        if policy.rewrites:
            policy, reason = ORIGINAL, f"the policy cannot be applied: {policy.describe()} needs the query's text"
        waits = bool(policy.hints) and not declared
        try:
            session, why = self._for_job(policy, declared=declared, waits=waits)
        except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's query
            self._tell(ORIGINAL, reason or _not_applied(error))
            return job(self._spark)
        reason, result = reason or why, None
        try:
            result = job(session.spark)
        finally:
            if not isinstance(result, DataFrame):  # it ran by itself, or failed: the error is the user's own
                held = ORIGINAL if waits else session.policy
                self._keep(session, held, reason or (_NO_FRAME if waits else ""), parameters, None)
                if not self._log.in_block:
                    self.close()
        if not isinstance(result, DataFrame):
            return result
        try:
            if waits and not reason:
                session.resume()
            frame, held = session.with_hints(result), session.policy
        except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's query
            reason = reason or _not_applied(error)
            frame, held = self._without_policy(session, result)
        self._keep(session, held, reason, parameters, frame)
        return frame

    def _without_policy(self, session: PolicySession, frame: DataFrame) -> tuple[DataFrame, Policy]:
        try:
            return session.as_original(frame)
        except Exception:  # noqa: BLE001  # the frame is there and right; it keeps what settings its session has
            return frame, Policy.of(dict(session.policy.settings))

    def _for_job(self, policy: Policy, *, declared: bool, waits: bool) -> tuple[PolicySession, str]:
        """A session for a job that builds its own frames, and why it is not under the policy."""
        try:
            session = self._open(policy)
            if not declared:
                session.check_functions()
            session.renew_all()
            if waits:
                session.suspend()
        except Exception as error:  # noqa: BLE001  # the second attempt is the original, which needs none of it
            return self._open(ORIGINAL), _not_applied(error)
        return session, ""

    def _open(self, policy: Policy) -> PolicySession:
        from planopt_assets.engine.user_job.policy_session import PolicySession

        return PolicySession(self._spark, policy, self._found.workload.tables if self._found.workload else ())

    def _keep(
        self, session: PolicySession, policy: Policy, reason: str, parameters: Mapping[str, Any] | None, frame: Any
    ) -> None:
        given = tuple(sorted((parameters or {}).items()))
        bindings = self._found.query.bindings if self._found.query else ()
        binding = next((number for number, declared in enumerate(bindings) if declared == given), None)
        self._log.keep(Use(session, policy, reason, binding, frame))
        self._tell(policy, reason)

    def _tell(self, policy: Policy, reason: str) -> None:
        self.policy, self.reason = policy, reason
        query = self._found.query_id
        if not reason:
            LOG.info("%s runs under generation %d: %s", query, self.generation, policy.describe())
        elif reason != self._found.reason:
            LOG.warning("%s does not run under generation %d: %s", query, self.generation, reason)
        elif self._found.failure is None:
            LOG.info("%s runs as original: %s", query, reason)

    def _difference(self, text: str) -> str:
        """Why a text is not the declared query; empty where it is."""
        query = self._found.query
        if query is None:
            return self._found.reason
        if query.sql is None:
            return "the declared query is Python, this is a text"
        if same_text(text, query.sql):
            return ""
        try:
            return why_different(text, query.sql, self._open(ORIGINAL).schemas(f"{text} {query.sql}"))
        except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's query
            return f"the text differs from the declared one and cannot be compared with it: {first_line(error)}"

    def _nothing_to_run(self, what: str) -> PlanoptError:
        if self._found.query is None and self._found.failure is not None:
            return self._found.failure
        return NothingToRun(
            f"the workload has no {what} for it",
            where=f"query {self._found.query_id}",
            fix="`sql` is for SQL queries and `run` for Python ones; or give it the text or the callable",
        )


def _not_applied(error: BaseException) -> str:
    return f"the policy cannot be applied: {first_line(error)}"
