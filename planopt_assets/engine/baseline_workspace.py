"""The queries of another version of a workload, in the Spark of this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.engine.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from planopt_assets.model.arm import Arm
    from planopt_assets.model.workload import Workload


class BaselineWorkspace(Workspace):
    """The baseline's queries in the branch's Spark: the same pinned versions, and the settings of the baseline.

    Only settings that a session may change can be put back; `fixed` names the others.
    """

    def __init__(self, workload: Workload, branch: Workspace) -> None:
        super().__init__(workload, lambda: branch.spark)
        self.pins = branch.pins
        was, new = workload.session_settings, branch.workload.session_settings
        self._settings = {name: was.get(name) for name in was.keys() | new.keys() if was.get(name) != new.get(name)}

    @property
    def fixed(self) -> list[str]:
        """Settings that differ and belong to the whole application."""
        return sorted(name for name in self._settings if not self.spark.conf.isModifiable(name))

    def isolated(self, arm: Arm) -> SparkSession:
        known = arm.session in self._sessions
        session = super().isolated(arm)
        if not known:
            for name, value in self._settings.items():
                if not session.conf.isModifiable(name):
                    continue
                if value is None:
                    session.conf.unset(name)
                else:
                    session.conf.set(name, value)
        return session
