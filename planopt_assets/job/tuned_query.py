"""`tuned`: runs a query of the user's own job under the policy in force, and records the run.

If anything in planopt fails, the query still runs, as original. The reason is in the log.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.frames.callables import build_frame
from planopt_assets.errors import NothingToRun, PlanoptError
from planopt_assets.job.fit import Fit, fitting_policy
from planopt_assets.job.in_force import InForce, read_in_force
from planopt_assets.job.production_log import LOG, TIMEOUT_S, ProductionLog, Use, first_line, flush_all
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.observe.sql.same_query import same_text, why_different

if TYPE_CHECKING:
    from planopt_assets.engine.user_job.policy_session import PolicySession
    from planopt_assets.engine.user_job.user_session import DataFrame, SparkSession
    from planopt_assets.model.workload import Workload

_CONNECT = "the policy cannot be applied: a Spark Connect session cannot be copied"
_COMMAND = "the policy cannot be applied: the text is no plain query, so it runs once, in your session"
_NO_FRAME = "the policy cannot be applied: hints need a frame, and the job returns none"


def tuned(
    spark: SparkSession,
    query_id: str,
    workload: Workload | str | os.PathLike[str] = "planopt.yaml",
    *,
    timeout_s: float = TIMEOUT_S,
    run_id: str | None = None,
) -> Tuned:
    """A query of the workload, to run in the user's session under its policy in force.

        with tuned(spark, "orders_by_day") as query:
            query.sql().write.format("delta").save(target)

    The store is read once, here, without Spark. At the end of the block the runs are recorded with purpose `production`
    and this `run_id`. Without a block they are recorded at the next `tuned`, or when Python ends.
    """
    flush_all(timeout_s)
    run_id = run_id or str(uuid.uuid4())
    drawn = run_id if _is_classic(spark) else None  # without a policy there is nothing to compare with
    found = read_in_force(workload, query_id, timeout_s=timeout_s, run_id=drawn)
    return Tuned(spark, found, ProductionLog(found, timeout_s, run_id))


class Tuned:
    """One query of a user's job. Each frame it returns belongs to its own copy of the user's session."""

    def __init__(self, spark: SparkSession, found: InForce, log: ProductionLog) -> None:
        self._spark, self._found, self._log = spark, found, log
        self.policy: Policy = ORIGINAL if found.reason else found.policy
        """The policy of the last frame. Before the first frame: the policy it will have."""
        self.reason: str = found.reason
        """Why the policy in force is not applied, or why there is none. Empty if it is applied."""
        self.control: bool = found.control
        """Whether the last frame is a control run. Before the first frame: whether it was drawn to be one."""
        if found.failure is not None:
            LOG.warning("%s runs as original: %s", found.query_id, found.reason)

    @property
    def generation(self) -> int:
        """The generation of the policy in force. 0: there is none, or it could not be read."""
        return self._found.generation

    def facts(self) -> dict[str, Any]:
        """What is applied, as plain data for a log or asset metadata."""
        return {
            "query": self._found.query_id,
            "generation": self.generation,
            "policy_id": self.policy.id,
            "policy": self.policy.describe(),
            "applied": not self.reason,
            "control": self.control,
            "reason": self.reason,
        }

    def sql(self, text: str | None = None, args: Mapping[str, Any] | None = None) -> DataFrame:
        """The query as a frame. The default text is the workload's, with its parameters if it declares one set.

        Another spelling of the declared text is the same query. Any other text runs unchanged in the user's session
        and is not recorded, because no policy was proven for it.
        """
        query = self._found.query
        if text is None:
            if query is None or query.sql is None:
                raise self._nothing_to_run("text")
            text = query.sql
            if args is None and len(query.bindings) == 1:
                args = dict(query.bindings[0])
        given = dict(args) if args else None
        if why := self._unchanged(text):
            self._tell(ORIGINAL, why)
            return self._spark.sql(text, args=given)
        wanted = text
        return self._frame(
            lambda session: session.sql(wanted, given), lambda: self._spark.sql(wanted, args=given), given
        )

    def frame(self, frame: DataFrame, args: Mapping[str, Any] | None = None) -> DataFrame:
        """The user's frame under the policy. If the policy cannot be applied, the frame itself.

        A frame keeps the scan settings of its session. A policy with scan settings needs `run` or `sql`. `args` are the
        parameter values that the frame was made with: a frame does not tell them.
        """
        if not _is_classic(self._spark):
            self._tell(ORIGINAL, _CONNECT)
            return frame
        return self._frame(lambda session: session.adopt(frame), lambda: frame, args)

    def run(self, job: Callable[..., Any] | None = None, **parameters: Any) -> Any:
        """What `job(session, **parameters)` returns. The default job is the workload's Python query.

        The job is called once. If it returns a frame, the frame is planned under the policy, or as original if not all
        of the policy can be applied. A job that runs actions itself runs under the policy, or as original if the policy
        has join hints.
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
        """Record what has run. It never fails, and may be called again."""
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
        """Builds the frame under the policy. If that fails, as original in a copy. If that fails too, without planopt.

        Building a frame runs nothing, so it may be repeated. The last attempt raises the user's own mistakes as Spark
        reports them.
        """
        fit = self._fitting(parameters)
        if fit.control:
            fit = self._drawn(fit, lambda: build(self._open(self._found.policy)))
        reason = fit.reason
        for attempt in dict.fromkeys((fit.policy, ORIGINAL)):
            try:
                session = self._open(attempt)
                frame = build(session)
            except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's query
                reason = reason if attempt == ORIGINAL and reason else _not_applied(error)
            else:
                self._keep(session, attempt, reason, parameters, frame, control=fit.control)
                return frame
        self._tell(ORIGINAL, reason)
        return plain()

    def _call(self, job: Callable[[Any], Any], parameters: Mapping[str, Any], *, declared: bool) -> Any:
        """What the job returns. The job is called once, whether or not the policy can be applied.

        Only a declared query is known to return a frame. Any other job may run actions, and hints cannot reach them.
        So with hints the job is called as original. If it returns a frame, the policy is applied to the frame.
        """
        from planopt_assets.engine.user_job.user_session import DataFrame

        if not _is_classic(self._spark):
            self._tell(ORIGINAL, _CONNECT)
            return job(self._spark)
        fit = self._fitting(parameters or None)
        whole = self._found.policy if fit.control else fit.policy
        if whole.rewrites:
            fit = Fit(ORIGINAL, f"the policy cannot be applied: {whole.describe()} needs the query's text")
        elif fit.control:
            fit = self._drawn(fit, lambda: self._ready(whole, declared=declared, waits=False))
        policy, reason, control = fit.policy, fit.reason, fit.control
        waits = bool(policy.hints) and not declared
        try:
            session, why = self._for_job(policy, declared=declared, waits=waits, control=control)
        except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's query
            self._tell(ORIGINAL, reason or _not_applied(error))
            return job(self._spark)
        reason, result = why or reason, None
        try:
            result = job(session.spark)
        finally:
            if not isinstance(result, DataFrame):  # it ran actions itself, or raised the user's own error
                held = ORIGINAL if waits else session.policy
                if control and whole.hints and not declared:
                    reason, control = _NO_FRAME, False
                said = reason or (_NO_FRAME if waits else "")
                self._keep(session, held, said, parameters, None, control=control)
                if not self._log.in_block:
                    self.close()
        if not isinstance(result, DataFrame):
            return result
        try:
            if waits and not why:
                session.resume()
            frame, held = session.with_hints(result), session.policy
        except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's query
            reason = reason if session.policy == ORIGINAL and reason and not control else _not_applied(error)
            control = False
            frame, held = self._without_policy(session, result)
        self._keep(session, held, reason, parameters, frame, control=control)
        return frame

    def _drawn(self, fit: Fit, applied: Callable[[], object]) -> Fit:
        """A control run, unless the policy could not have been applied: `applied` tries to, and runs nothing."""
        try:
            applied()
        except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's query
            return Fit(ORIGINAL, _not_applied(error))
        return fit

    def _without_policy(self, session: PolicySession, frame: DataFrame) -> tuple[DataFrame, Policy]:
        try:
            return session.as_original(frame)
        except Exception:  # noqa: BLE001  # the frame is correct; it keeps the settings of its session
            return frame, Policy.of(dict(session.policy.settings))

    def _for_job(self, policy: Policy, *, declared: bool, waits: bool, control: bool) -> tuple[PolicySession, str]:
        """A session for a job that builds its own frames, and why the policy is not applied to it."""
        try:
            return self._ready(policy, declared=declared, waits=waits, control=control), ""
        except Exception as error:  # noqa: BLE001  # second attempt: original, which needs none of these steps
            return self._open(ORIGINAL), _not_applied(error)

    def _ready(self, policy: Policy, *, declared: bool, waits: bool, control: bool = False) -> PolicySession:
        session = self._open(policy, control=control)
        if not declared:
            session.check_functions()
        session.renew_all()
        if waits:
            session.suspend()
        return session

    def _fitting(self, parameters: Mapping[str, Any] | None) -> Fit:
        """What of the policy in force was proven for this session and these values, and why the rest was not."""
        try:
            return fitting_policy(self._found, self._spark, parameters)
        except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's query
            return Fit(ORIGINAL, _not_applied(error))

    def _open(self, policy: Policy, *, control: bool = False) -> PolicySession:
        """What a frame reads is compared with what was proven: for a policy, and for a control run in its place."""
        from planopt_assets.engine.user_job.policy_session import PolicySession

        tables = self._found.workload.tables if self._found.workload else ()
        compared = policy != ORIGINAL or control
        proven = self._found.proven[0].proven.tables if self._found.proven and compared else ()
        return PolicySession(self._spark, policy, tables, proven)

    def _keep(
        self,
        session: PolicySession,
        policy: Policy,
        reason: str,
        parameters: Mapping[str, Any] | None,
        frame: Any,
        *,
        control: bool,
    ) -> None:
        given = tuple(sorted((parameters or {}).items()))
        bindings = self._found.query.bindings if self._found.query else ()
        binding = next((number for number, declared in enumerate(bindings) if declared == given), None)
        self._log.keep(Use(session, policy, reason, binding, frame, control))
        self._tell(policy, reason, control=control)

    def _tell(self, policy: Policy, reason: str, *, control: bool = False) -> None:
        self.policy, self.reason, self.control = policy, reason, control
        query = self._found.query_id
        if not reason:
            LOG.info("%s runs under generation %d: %s", query, self.generation, policy.describe())
        elif policy != ORIGINAL:
            LOG.warning(
                "%s runs under a part of generation %d: %s: %s", query, self.generation, policy.describe(), reason
            )
        elif reason != self._found.reason:
            LOG.warning("%s does not run under generation %d: %s", query, self.generation, reason)
        elif self._found.failure is None:
            LOG.info("%s runs as original: %s", query, reason)

    def _unchanged(self, text: str) -> str:
        """Why a text runs unchanged in the user's session, and only there. Empty if a policy can be applied to it."""
        from planopt_assets.engine.gate.sql_gate import is_plain_query

        query = self._found.query
        if query is None:
            return self._found.reason
        if not _is_classic(self._spark):
            return _CONNECT
        if query.sql is None:
            return "the declared query is Python, but this is SQL"
        if not same_text(text, query.sql) and (different := self._difference(text, query.sql)):
            return different
        return "" if is_plain_query(self._spark, text) else _COMMAND

    def _difference(self, text: str, declared: str) -> str:
        try:
            return why_different(text, declared, self._open(ORIGINAL).schemas(f"{text} {declared}"))
        except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's query
            return f"the text differs from the declared text, and comparing them failed: {first_line(error)}"

    def _nothing_to_run(self, what: str) -> PlanoptError:
        if self._found.query is None and self._found.failure is not None:
            return self._found.failure
        return NothingToRun(
            f"the workload has no {what} for this query",
            where=f"query {self._found.query_id}",
            fix="use `sql` for SQL queries and `run` for Python queries, or pass the text or the callable",
        )


def _is_classic(spark: SparkSession) -> bool:
    """Whether the session is in a JVM that this process talks to; one of Spark Connect is somewhere else."""
    return hasattr(spark, "_jsparkSession")


def _not_applied(error: BaseException) -> str:
    return f"the policy cannot be applied: {first_line(error)}"
