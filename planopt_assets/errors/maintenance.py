"""Errors of layouts and upkeep of tables: PLN-6xx."""

from __future__ import annotations

from planopt_assets.errors.base import PlanoptError


class LayoutNotTried(PlanoptError):
    """A layout cannot be tried on a clone. The table itself is untouched."""

    code = "PLN-601"


class MaintenanceRefused(PlanoptError):
    """planopt may not write to this table, or not in this way."""

    code = "PLN-602"


class MaintenanceConflict(PlanoptError):
    """Other writers changed the same files each time. No file was rewritten, nothing of theirs was lost."""

    code = "PLN-603"


class MaintenanceFailed(PlanoptError):
    """Delta could not rewrite a table. No row is lost; the message says if something is left on the table."""

    code = "PLN-604"


class UndoRefused(PlanoptError):
    """A change of layout cannot be taken back without harm."""

    code = "PLN-605"


class VacuumRefused(PlanoptError):
    """VACUUM would delete files that somebody still needs."""

    code = "PLN-606"


class TableReplaced(PlanoptError):
    """Another table is in the place of the one that was looked at."""

    code = "PLN-607"
