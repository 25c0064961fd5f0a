"""The details of an operator from its paragraph, in the form of Spark's plan tree."""

from __future__ import annotations

import re

from planopt_assets.errors import ExplainUnreadable

_SCAN = ("Output", "Batched", "Bucketed", "Location", "PartitionFilters", "PushedFilters", "ReadSchema")
_JOIN = ("Left keys", "Right keys", "Join type", "Join condition")
_AGGREGATE = ("Input", "Keys", "Functions", "Aggregate Attributes", "Results")
_ANY = ("Left output", "Right output", "Output", "Input", "Arguments")
# Fields without literals: what looks like the next field after them really is the next field.
_PLAIN = frozenset({"Input", "Left output", "Right output", "Batched", "Join type"})
_SIDE = re.compile(r" (Build(?:Left|Right))$")
_LOCATION = re.compile(r"(\w+) (\[[^\n]*\])")
_SPLITS = re.compile(r"splits=Some\((\d+)\)")


def detail(kind: str, label: str, body: str, reused: str | None = None) -> str:
    """One line for an operator. `label` is its name in the tree, `reused` the line of the exchange it reuses.

    >>> detail("Filter", "Filter", "Input [1]: [a#1]\\nCondition : (a#1 > 2)")
    'Filter (a#1 > 2)'
    """
    if kind == "Filter":
        return f"Filter {_fields(body, ('Input', 'Condition'))['Condition']}"
    if kind == "Project":
        output = _fields(body, ("Output", "Input"))["Output"]
        return "Project" if output == "[]" else f"Project {output}"
    if body.startswith(("Join type:", "Left keys")):
        return _join(kind, label, _fields(body, _JOIN))
    if "Aggregate" in kind and body.startswith("Input"):
        return _aggregate(kind, _fields(body, _AGGREGATE))
    if kind.startswith("Scan") and "\nLocation:" in body:
        return _scan(kind, _fields(body, _SCAN))
    fields = _fields(body, _ANY)
    if kind in ("Scan ExistingRDD", "Scan OneRowRelation"):
        return f"{kind}{_packed(fields['Output'])}"
    if kind == "ReusedExchange":
        return f"{kind} {fields['Output']}, {reused}"
    if kind == "Range":
        return _SPLITS.sub(r"splits=\1", fields["Arguments"])
    return f"{kind} {fields['Arguments']}" if "Arguments" in fields else kind


def fewest_children(body: str) -> int:
    """The least number of children of an operator, by its paragraph."""
    if body.startswith(("Join type:", "Left keys", "Left output")):
        return 2
    return 1 if re.search(r"^Input(?: \[\d+\])?: ", body, re.MULTILINE) else 0


def _join(kind: str, label: str, fields: dict[str, str]) -> str:
    side = _SIDE.search(label)
    how = [fields["Join type"], *([side[1]] if side else [])]
    condition = [] if fields["Join condition"] == "None" else [fields["Join condition"]]
    if kind == "CartesianProduct":
        return " ".join([kind, *condition])
    if kind == "BroadcastNestedLoopJoin":
        return f"{kind} " + ", ".join([*reversed(how), *condition])
    return f"{kind} " + ", ".join([fields["Left keys"], fields["Right keys"], *how, *condition])


def _aggregate(kind: str, fields: dict[str, str]) -> str:
    keys = "key" if kind == "SortAggregate" else "keys"
    return f"{kind}({keys}={fields['Keys']}, functions={fields['Functions']})"


def _scan(kind: str, fields: dict[str, str]) -> str:
    told = (f"{name}: {value}" for name, value in _metadata(fields).items())
    return f"File{kind} {_packed(fields['Output'])} " + ", ".join(told)


def scan_metadata(kind: str, body: str) -> dict[str, str]:
    """The metadata that the plan tree has for a file scan. Empty for any other operator."""
    return _metadata(_fields(body, _SCAN)) if kind.startswith("Scan") and "\nLocation:" in body else {}


def _metadata(fields: dict[str, str]) -> dict[str, str]:
    location = _LOCATION.fullmatch(fields["Location"])
    if not location:
        raise ExplainUnreadable(f"a scan's location is {fields['Location'][:120]!r}")
    return {
        "Batched": fields["Batched"],
        "Location": f"{location[1]}(1 paths){location[2]}",
        "PartitionFilters": fields.get("PartitionFilters", "[]"),
        "PushedFilters": fields.get("PushedFilters", "[]"),
        "ReadSchema": fields["ReadSchema"],
    }


def _packed(attributes: str) -> str:
    return attributes.replace(", ", ",")


class _Fields(dict[str, str]):
    def __missing__(self, label: str) -> str:
        raise ExplainUnreadable(f"an operator does not say its {label!r}")


def _fields(body: str, layout: tuple[str, ...]) -> _Fields:
    """The fields of a paragraph, each at most once and in the order of `layout`."""
    fields = _Fields()
    if not body:
        return fields
    current: str | None = None
    start = 0
    for label in layout:
        found = list(re.compile(rf"^{label}(?: \[\d+\])? ?: ?", re.MULTILINE).finditer(body, start))
        if not found:
            continue
        if len(found) > 1 and current is not None and current not in _PLAIN:
            raise ExplainUnreadable(f"{label!r} can be read in two ways")
        if current is None:
            if found[0].start():
                continue
        else:
            fields[current] = body[start : found[0].start()].removesuffix("\n")
        current, start = label, found[0].end()
    if current is None:
        raise ExplainUnreadable(f"an operator says {body[:120]!r}")
    fields[current] = body[start:]
    return fields
