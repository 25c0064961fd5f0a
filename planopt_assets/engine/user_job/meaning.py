"""What a table's name means in a user's session: the table that a policy was proven on, or something else.

A name may stand for a view with a filter, for an older version, or for another table: of other rows nothing was proven.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.user_job.user_session import location_of, newest_read, scans_of
from planopt_assets.errors import PlanoptError, PolicyNotApplied
from planopt_assets.model.location import plain_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from planopt_assets.model.conditions import TableState
    from planopt_assets.model.workload import Table

_TRANSPARENT = ("SubqueryAlias", "View")  # they change neither rows nor values
_NAME = r"(?P<name>(?:(?! AS )[^#,])+)#\d+L?"
_PADDED = rf"staticinvoke\([^#]*CharVarcharCodegenUtils[^#]*readSidePadding, {_NAME}, .*\)"  # of a CHAR column
_PASSED_ON = re.compile(
    rf"(?:{_NAME}|cast\({_NAME.replace('name', 'cast')} as [^#]+\)|{_PADDED.replace('name', 'padded')})"
    r"(?: AS (?:(?P=name)|(?P=cast)|(?P=padded))#\d+L?)?",
    re.IGNORECASE,
)
"""A column of a projection, as Spark writes it, that is the column below it under the same name."""


class Meaning:
    """The tables that a policy was proven on. Without any, as for a pin, every meaning will do."""

    def __init__(self, proven: Sequence[TableState], tables: Iterable[Table]) -> None:
        declared = {t.name: t.path for t in tables}
        self._proven = {t.name: t.table_id for t in proven}
        self._places = {t.name: plain_path(place) for t in proven if (place := declared.get(t.name) or t.location)}
        self._pins = Pins()

    def check_names(self, session: SparkSession) -> None:
        """An error where a name means something else in this session. One that it does not know means nothing yet."""
        for name in self._proven:
            if session.catalog.tableExists(name) and not self._reads(session.table(name), name):
                raise _other(
                    f"{name} is not the table it was proven on, in this session: a view, another table or version"
                )

    def check_frame(self, frame: DataFrame) -> None:
        """An error where a frame reads other tables than the query that was proven."""
        found = {self._table_id(leaf) for leaf in scans_of(frame)}
        if self._proven and found != set(self._proven.values()):
            raise _other("the frame does not read exactly the tables that it was proven on, at their newest version")

    def _reads(self, frame: DataFrame, name: str) -> bool:
        execution: Any = frame._jdf.queryExecution()
        node = execution.analyzed()
        while _passes_on(node):
            node = node.children().apply(0)
        if node.getClass().getSimpleName() != "LogicalRelation" or self._table_id(node) != self._proven[name]:
            return False
        return _types(frame.schema.json()).items() <= _types(str(node.schema().json())).items()

    def _table_id(self, leaf: Any) -> str | None:
        """The id of the Delta table that a scan reads at its newest version. None: it reads something else."""
        if not newest_read(leaf):
            return None
        location = plain_path(location_of(leaf))
        known = next((name for name, place in self._places.items() if place == location), None)
        if known is not None:
            return self._proven[known]  # the head of its log was read before: it is that table
        try:
            return self._pins.facts(location, location).table_id
        except PlanoptError:
            return None


def _passes_on(node: Any) -> bool:
    """Whether a node gives the rows below it, and of them only columns as they are.

    A view casts every column to the type it had: whether that is another one now is seen in the schema.
    """
    kind = node.getClass().getSimpleName()
    if kind == "Project":
        return all(_PASSED_ON.fullmatch(column) for column in str(node.projectList().mkString("\n")).split("\n"))
    return kind in _TRANSPARENT


def _types(schema: str) -> dict[str, str]:
    """By name in lower case. Whether a value may be NULL does not matter."""
    return {f["name"].lower(): json.dumps(f["type"], sort_keys=True) for f in json.loads(schema)["fields"]}


def _other(what: str) -> PolicyNotApplied:
    return PolicyNotApplied(what, where="tables", fix="read the tables of the workload by their own names")
