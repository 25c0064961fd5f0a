"""Errors of the store, planopt's own tables: PLN-3xx."""

from __future__ import annotations

from planopt_assets.errors.base import PlanoptError


class StoreUnreadable(PlanoptError):
    """A table of the store is damaged, or is not a table of planopt."""

    code = "PLN-301"


class StoreTooNew(PlanoptError):
    """The store was written by a newer planopt."""

    code = "PLN-302"


class StoreWriteFailed(PlanoptError):
    """Rows could not be appended. No part of the commit is visible."""

    code = "PLN-303"


class RowNotFound(PlanoptError):
    """No stored row has this id."""

    code = "PLN-304"


class NothingToAccept(PlanoptError):
    """A query has no captured plan that could be accepted."""

    code = "PLN-305"


class StoreTooSlow(PlanoptError):
    """The store did not answer within the time limit of a user's job."""

    code = "PLN-306"
