"""What a command, a Dagster run or a user's job cannot do: PLN-5xx."""

from __future__ import annotations

from planopt_assets.errors.base import PlanoptError


class UnknownQuery(PlanoptError):
    """The workload has no query of this id."""

    code = "PLN-501"


class RunFailed(PlanoptError):
    """The Dagster run did not succeed."""

    code = "PLN-502"


class ToolMissing(PlanoptError):
    """A program planopt needs for this command is not installed."""

    code = "PLN-503"


class NotExportable(PlanoptError):
    """The policy in force cannot be written in the form asked for."""

    code = "PLN-504"


class NothingToRun(PlanoptError):
    """`tuned` was given neither a text nor a workload that has one for the query."""

    code = "PLN-505"
