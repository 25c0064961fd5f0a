"""What in a query may give another answer when it is planned in another way, although its text promises none.

Read from the analysed plan, by a closed list: Spark itself calls most of these deterministic. What depends on the data
(ties of ORDER BY with LIMIT, of `row_number` or `max_by`) is not here: there the results are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planopt_assets.observe.plans.plan_json import Flat, Node, after_subtree, kind_of, plan_tree

# By class of the expression: its name in SQL.
_BY_PLACE: Mapping[str, str] = {  # of the row, among files, partitions and tasks
    "SparkPartitionID": "spark_partition_id",
    "MonotonicallyIncreasingID": "monotonically_increasing_id",
    "InputFileName": "input_file_name",
    "InputFileBlockStart": "input_file_block_start",
    "InputFileBlockLength": "input_file_block_length",
    "Rand": "rand",
    "Randn": "randn",
    "RandStr": "randstr",
    "Uniform": "uniform",
    "Uuid": "uuid",
    "Shuffle": "shuffle",
}
AGGREGATES: Mapping[str, str] = {  # in which an aggregate meets its rows
    "First": "first",
    "Last": "last",
    "AnyValue": "any_value",
    "CollectList": "collect_list",
    "CollectSet": "collect_set",
    "ListAgg": "listagg",
    "Mode": "mode",
    "ApproximatePercentile": "approx_percentile",
    "HistogramNumeric": "histogram_numeric",
    "ApproxTopK": "approx_top_k",
    "ApproxTopKAccumulate": "approx_top_k_accumulate",
    "ApproxTopKCombine": "approx_top_k_combine",
    "KllSketchAggBigint": "kll_sketch_agg_bigint",
    "KllSketchAggDouble": "kll_sketch_agg_double",
    "KllSketchAggFloat": "kll_sketch_agg_float",
    "KllMergeAggBigint": "kll_merge_agg_bigint",
    "KllMergeAggDouble": "kll_merge_agg_double",
    "KllMergeAggFloat": "kll_merge_agg_float",
    "HllSketchAgg": "hll_sketch_agg",
    "HllUnionAgg": "hll_union_agg",
}
# Around `collect_list` and `collect_set`: the order of the elements is lost again.
_WITHOUT_ORDER = frozenset({"SortArray", "Size", "ArraySize", "ArrayContains", "ArrayMin", "ArrayMax"})
_COLLECTED = frozenset({"CollectList", "CollectSet"})
_SPLITS = frozenset({"file_block_start", "file_block_length"})  # of `_metadata`: they go by how files are split
_KEEP_ORDER = frozenset({"Project", "GlobalLimit", "LocalLimit", "Offset", "SubqueryAlias", "View", "Filter"})
_LIMITS = frozenset({"GlobalLimit", "Tail", "Offset"})


def plan_dependent(plan: Flat) -> tuple[str, ...]:
    """Names of what depends on the plan, sorted; empty for nearly every query."""
    return tuple(sorted(set(_found(plan))))


def _found(plan: Flat) -> Iterator[str]:
    stack: list[object] = [plan]
    while stack:
        here = stack.pop()
        if isinstance(here, Mapping):
            stack.extend(
                value for name, value in here.items() if name != "output"
            )  # what a table has, not what is used
        elif isinstance(here, list):
            stack.extend(here)
            if here and all(isinstance(node, Mapping) and "num-children" in node for node in here):
                yield from _of_expressions(here)
                if any(kind_of(node) in {*_LIMITS, "Sample", "Deduplicate"} for node in here):
                    yield from _of_operators(plan_tree(here))


def _of_expressions(flat: Flat) -> Iterator[str]:
    """Of one tree in pre-order; operators of a plan are passed by."""
    above: list[list[int]] = []  # the nodes above: where each is, and how many of its children are still to come
    for at, node in enumerate(flat):
        while above and not above[-1][1]:
            above.pop()
        parents = [i for i, _ in above]
        kind = kind_of(node)
        if kind in _BY_PLACE:
            yield _BY_PLACE[kind]
        elif kind in AGGREGATES and not _has_order(flat, at, parents):
            yield AGGREGATES[kind]
        elif kind == "PythonUDF" and node.get("udfDeterministic") is False:
            yield f"the non-deterministic function {node.get('name')}"
        elif kind == "AttributeReference" and node.get("name") == "_metadata":
            parent = flat[parents[-1]] if parents else {"class": ""}
            if kind_of(parent) != "GetStructField" or parent.get("name") in _SPLITS:
                yield "_metadata"
        if above:
            above[-1][1] -= 1
        above.append([at, int(node["num-children"])])


def _has_order(flat: Flat, at: int, parents: list[int]) -> bool:
    """Whether the order of its rows is given, or lost again right above it."""
    if kind_of(flat[at]) == "ListAgg":
        return _sorts(flat, at)
    around = next((i for i in reversed(parents) if kind_of(flat[i]) != "AggregateExpression"), None)
    if around is None:
        return False
    if kind_of(flat[around]) == "WindowExpression":
        return _sorts(flat, after_subtree(flat, around + 1))  # the function is followed by its window
    return kind_of(flat[at]) in _COLLECTED and kind_of(flat[around]) in _WITHOUT_ORDER


def _sorts(flat: Flat, at: int) -> bool:
    return any(kind_of(node) == "SortOrder" for node in flat[at : after_subtree(flat, at)])


def _of_operators(root: Node) -> Iterator[str]:
    stack = [root]
    while stack:
        node = stack.pop()
        stack.extend(node.children)
        if node.kind == "Sample":
            yield "TABLESAMPLE"
        elif node.kind == "Deduplicate" and len(node.fields.get("keys", ())) != _width(node.children[0]):
            yield "dropDuplicates of some columns"
        elif node.kind in _LIMITS and not _is_sorted(node.children[0]):
            yield "LIMIT without ORDER BY" if node.kind == "GlobalLimit" else "OFFSET without ORDER BY"


def _is_sorted(node: Node) -> bool:
    """Whether its rows come in an order that the query gives, or it has one row at most."""
    while node.kind in _KEEP_ORDER:
        node = node.children[0]
    if node.kind == "Aggregate":
        return not node.fields.get("groupingExpressions")
    return node.kind in ("Sort", "OneRowRelation") and bool(node.fields.get("global", True))


def _width(node: Node) -> int | None:
    """The number of its columns. None: not known here."""
    while node.kind in {*_KEEP_ORDER, "Sort", "Deduplicate", "Distinct"} - {"Project"}:
        node = node.children[0]
    lists = [node.fields[name] for name in ("projectList", "aggregateExpressions", "output") if name in node.fields]
    return len(lists[0]) if lists else None
