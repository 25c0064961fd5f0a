"""What goes wrong between planopt and Spark, Java or a table: PLN-2xx."""

from __future__ import annotations

from planopt_assets.errors.base import PlanoptError


class JarsMissing(PlanoptError):
    """The Delta jars Spark needs are not on this machine, or not all of them."""

    code = "PLN-201"


class JavaMissing(PlanoptError):
    """No Java on this machine: neither in JAVA_HOME nor on the PATH."""

    code = "PLN-202"


class JavaTooOld(PlanoptError):
    """A Java is there, but Spark needs a newer one."""

    code = "PLN-203"


class SessionMismatch(PlanoptError):
    """The process already holds a Spark session with other settings."""

    code = "PLN-204"


class SparkFailed(PlanoptError):
    """Spark did not start."""

    code = "PLN-205"


class TableUnreadable(PlanoptError):
    """A registered table is missing, is no Delta table, or has a damaged log."""

    code = "PLN-206"


class QueryFailed(PlanoptError):
    """Spark could not plan or run a query."""

    code = "PLN-207"


class QueryTimedOut(PlanoptError):
    """A query ran longer than it was given."""

    code = "PLN-208"


class KnobUnknown(PlanoptError):
    """The running Spark does not know a setting, or does not let a session change it."""

    code = "PLN-209"


class CallableUnusable(PlanoptError):
    """A `python: module:callable` query cannot be imported or does not return a DataFrame."""

    code = "PLN-210"


class ExplainUnreadable(PlanoptError):
    """The text of a formatted plan is cut, ambiguous, or of a form planopt does not know."""

    code = "PLN-211"

    def __init__(self, what: str) -> None:
        super().__init__(
            what,
            where="formatted plan",
            fix="give the whole text as Spark made it, with the blank lines at its end, or capture the plan from Spark",
        )


class ProtocolUnsupported(PlanoptError):
    """A table needs a feature of the Delta protocol that this engine does not know."""

    code = "PLN-212"


class PolicyNotApplied(PlanoptError):
    """A hint or a rewrite of a policy finds nothing in the query that it could change."""

    code = "PLN-213"


class QueryHangs(QueryTimedOut):
    """A query ran longer than it was given and cannot be stopped; planopt went on without it."""

    code = "PLN-214"


class KnobMistyped(PlanoptError):
    """The running Spark holds a setting as another type than the knob catalogue says."""

    code = "PLN-219"
