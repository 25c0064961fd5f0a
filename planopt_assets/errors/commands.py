"""Errors of commands, Dagster runs and users' jobs: PLN-5xx."""

from __future__ import annotations

from planopt_assets.errors.base import PlanoptError


class UnknownQuery(PlanoptError):
    """The workload has no query with this id."""

    code = "PLN-501"


class UnknownTable(PlanoptError):
    """A command names a table that the workload file does not have."""

    code = "PLN-509"


class RunFailed(PlanoptError):
    """The Dagster run did not succeed."""

    code = "PLN-502"


class ToolMissing(PlanoptError):
    """A program that this command needs is not installed."""

    code = "PLN-503"


class NotExportable(PlanoptError):
    """The policy in force cannot be written in this format."""

    code = "PLN-504"


class NothingToRun(PlanoptError):
    """`tuned` got no text or callable, and the workload has none for the query."""

    code = "PLN-505"


class FolderNotWritable(PlanoptError):
    """A folder that a command has to write to cannot be written."""

    code = "PLN-506"


class AlertNotSent(PlanoptError):
    """A destination of `alerts:` did not take a message."""

    code = "PLN-507"
    passing: bool = False  # the same message may be taken a little later


class BaselineUnreadable(PlanoptError):
    """The baseline of `planopt gate` cannot be read."""

    code = "PLN-508"
