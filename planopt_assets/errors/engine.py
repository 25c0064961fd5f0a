"""Errors of Spark, Java and tables: PLN-2xx."""

from __future__ import annotations

from planopt_assets.errors.base import PlanoptError


class JarsMissing(PlanoptError):
    """Delta jars that Spark needs are missing on this machine."""

    code = "PLN-201"


class JavaMissing(PlanoptError):
    """No Java in JAVA_HOME or on the PATH."""

    code = "PLN-202"


class JavaTooOld(PlanoptError):
    """The Java found is older than Spark needs."""

    code = "PLN-203"


class SessionMismatch(PlanoptError):
    """The process already holds a Spark session with other settings."""

    code = "PLN-204"


class SparkFailed(PlanoptError):
    """Spark did not start."""

    code = "PLN-205"


class ClusterMismatch(SparkFailed):
    """The cluster runs another Spark, Python or Delta than the driver."""

    code = "PLN-221"


class ClusterGivesNothing(SparkFailed):
    """The cluster accepted the application, but gave it no executor."""

    code = "PLN-222"


class SparkUnsupported(SparkFailed):
    """The installed Spark or Delta is one that planopt does not work with."""

    code = "PLN-224"


class TableUnreadable(PlanoptError):
    """A registered table is missing, is not a Delta table, or has a damaged log."""

    code = "PLN-206"
    file = ""  # of the log, below the table, where one is damaged


class TableUnreachable(TableUnreadable):
    """The object storage of a table did not answer, or refused to. Nothing is known to be wrong with the table."""

    code = "PLN-220"


class QueryFailed(PlanoptError):
    """Spark could not plan or run a query."""

    code = "PLN-207"


class QueryTimedOut(PlanoptError):
    """A query exceeded its time limit."""

    code = "PLN-208"


class KnobUnknown(PlanoptError):
    """The running Spark does not know a setting, or a session may not change it."""

    code = "PLN-209"


class CallableUnusable(PlanoptError):
    """A `python: module:callable` query cannot be imported or does not return a DataFrame."""

    code = "PLN-210"


class ExplainUnreadable(PlanoptError):
    """The text of a formatted plan is cut, ambiguous, or in a form that planopt does not know."""

    code = "PLN-211"

    def __init__(self, what: str) -> None:
        super().__init__(
            what,
            where="formatted plan",
            fix="give the whole text from Spark, with the blank lines at its end, or capture the plan from Spark",
        )


class ProtocolUnsupported(PlanoptError):
    """A table needs a feature of the Delta protocol that this Delta version does not have."""

    code = "PLN-212"


class PolicyNotApplied(PlanoptError):
    """A hint or rewrite of a policy finds nothing in the query to change."""

    code = "PLN-213"


class QueryHangs(QueryTimedOut):
    """A query exceeded its time limit and cannot be stopped. planopt continued in a new Spark session."""

    code = "PLN-214"


class QueryOutdone(QueryTimedOut):
    """A candidate has taken more than the baseline ever did, so it was stopped before its end."""

    code = "PLN-223"


class SessionLost(PlanoptError):
    """A query ended the Spark session: it ran out of memory, or the JVM died. planopt continued in a new one."""

    code = "PLN-215"


class ResultIncomparable(PlanoptError):
    """Two results cannot be compared, so nothing is known about them."""

    code = "PLN-217"


class KnobMistyped(PlanoptError):
    """A setting has another type in the running Spark than in the knob catalogue."""

    code = "PLN-219"
