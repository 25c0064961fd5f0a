"""Reads every file scan of a plan in one call: what it reads, how it was planned, and its number of tasks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from planopt_assets.engine.jvm.questions import NOTHING
from planopt_assets.model.location import plain_path

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

    from planopt_assets.engine.jvm.questions import Questions
    from planopt_assets.observe.plans.plan_json import Json

_SCAN = "org.apache.spark.sql.execution.FileSourceScanExec"
_RELATION = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
_INDEX = "org.apache.spark.sql.execution.datasources.FileIndex"
_PREPARED = "org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex"
_DELTA_SCAN = "org.apache.spark.sql.delta.stats.DeltaScan"
_ITEMS, _SEQUENCE = "scala.collection.IterableOnceOps", "scala.collection.immutable.Seq"
_ARRAY = "org.apache.spark.sql.catalyst.expressions.CreateArray"
_TREE = "org.apache.spark.sql.catalyst.trees.TreeNode"
_OUTPUT = re.compile(r"^(.*)#(\d+)L?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class AskedScan:
    """One file scan. Fields that only Delta's prepared scans know are empty for others."""

    path: str
    names: tuple[str, ...]
    ids: frozenset[int]
    index: str
    filters: dict[str, list[Json]]  # by place, as Spark's JSON of one array that holds them
    tasks: int | None  # None where a join or a sub-query prunes at run time
    version: int | None = None
    skipping: str = ""
    sizes: tuple[str, str, str] = ("null", "null", "null")  # whole table, after partition filters, to read

    @property
    def prepared(self) -> bool:
        return self.version is not None


class ScanWalk:
    """The file scans of a plan and of its sub-queries, top down."""

    def __init__(self, questions: Questions) -> None:
        self._ask = questions

    def scans(self, plan: JavaObject) -> list[AskedScan]:
        return [_asked(answers) for answers in self._ask.answers(plan, self._function) if answers[0] != NOTHING]

    @cached_property
    def _function(self) -> JavaObject:
        ask = self._ask
        index = (ask.get(_SCAN, "relation"), ask.get(_RELATION, "location"))
        class_name = (ask.get("java.lang.Object", "getClass"), ask.get("java.lang.Class", "getSimpleName"))
        text = ask.jvm.cls("java.lang.String")
        lines = ask.given(_ITEMS, "mkString", text, "\n")
        own = (
            ask.text(*index, ask.get(_INDEX, "rootPaths"), ask.given(_ITEMS, "mkString", text, "")),
            ask.text(ask.get(_SCAN, "output"), lines),
            ask.text(*index, *class_name),
            self._filters(ask.get(_SCAN, "partitionFilters")),
            self._filters(ask.get(_SCAN, "dataFilters")),
            self._tasks(),
        )
        delta = (*index, ask.get(_PREPARED, "preparedScan"))
        prepared = (
            ask.text(*delta, ask.get(_DELTA_SCAN, "version")),
            ask.text(*delta, ask.get(_DELTA_SCAN, "dataSkippingType")),
            self._filters(*delta, ask.get(_DELTA_SCAN, "dataFilters")),
            self._filters(*delta, ask.get(_DELTA_SCAN, "unusedFilters")),
            *(ask.text(*delta, ask.get(_DELTA_SCAN, size)) for size in ("total", "partition", "scanned")),
        )
        is_prepared = ask.chain(*index, ask.is_a(_PREPARED))
        questions = [*own, *(ask.when(is_prepared, question) for question in prepared)]
        return ask.together(*(ask.when(ask.is_a(_SCAN), question) for question in questions))

    def _tasks(self) -> Any:
        """The number of tasks of a scan. If a join or a sub-query prunes it, this is known only at run time."""
        ask = self._ask
        tasks = ask.text(ask.get(_SCAN, "inputRDD"), ask.get("org.apache.spark.rdd.RDD", "getNumPartitions"))
        words = ask.jvm.cls("java.lang.CharSequence")
        for filters in ("partitionFilters", "dataFilters"):
            for word in ("dynamicpruning", "subquery"):
                shown = (ask.text(ask.get(_SCAN, filters)), ask.get("java.lang.String", "toLowerCase"))
                tasks = ask.unless(ask.chain(*shown, ask.given("java.lang.String", "contains", words, word)), tasks)
        return tasks

    def _filters(self, *steps: Any) -> Any:
        """Predicates as JSON, inside one array that is never evaluated, so that there is one tree."""
        ask = self._ask
        kinds = (ask.jvm.cls(_SEQUENCE), ask.jvm.java.lang.Boolean.TYPE)
        return ask.text(*steps, ask.get(_ITEMS, "toSeq"), ask.made(_ARRAY, kinds, False), ask.get(_TREE, "toJSON"))


def _asked(answers: list[str]) -> AskedScan:
    path, output, index, partition, data, tasks, version, skipping, compared, unused, *sizes = answers
    columns = _OUTPUT.findall(output)
    prepared = version != NOTHING
    texts = {"partition": partition, "data": data} | ({"skipping": compared, "unused": unused} if prepared else {})
    return AskedScan(
        path=plain_path(path),
        names=tuple(name for name, _ in columns),
        ids=frozenset(int(number) for _, number in columns),
        index=index,
        filters={place: orjson.loads(text) for place, text in texts.items()},
        tasks=None if tasks == NOTHING else int(tasks),
        version=int(version) if prepared else None,
        skipping=skipping if prepared else "",
        sizes=(sizes[0], sizes[1], sizes[2]) if prepared else ("null", "null", "null"),
    )
