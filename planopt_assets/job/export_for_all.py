"""Export of the workload policy: its settings once, and of each query only what differs from them. Pure.

What a query runs with is then what was measured for it: its policy in force, or the workload policy alone if it was
never promoted. Worked: for all, 2 shuffle partitions. The policy of `a` has just these: nothing is written for it. `b`
was accepted with 8: one line. `c` was accepted with larger splits and the partitions of the application, and never with
2 partitions beside them: one line for the splits, and one that takes the 2 partitions back. `d` is pinned to original:
one line that takes them back.
"""

from __future__ import annotations

import pprint
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planopt_assets.decide.parallelism import by_cores, remark
from planopt_assets.job.export import SETTINGS_ONLY, Exported, Format, set_back, settings_lines, statement
from planopt_assets.job.json_stream import json_object
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload_policy import WorkloadPolicy


@dataclass(frozen=True, slots=True)
class Beside:
    """One query beside the workload policy: what its own policy sets in another way, and what it takes back."""

    query: Exported
    policy: Policy  # the parts of its own policy that differ
    without: tuple[str, ...]  # settings of the workload policy that do not hold for it

    @staticmethod
    def of(query: Exported, found: WorkloadPolicy) -> Beside:
        """Only a query that was never promoted has no policy of its own. Original is one, by a pin or a revert.

        A policy that no format can hold is left out. The settings for all hold in its place if all of them are in it.

        >>> every = WorkloadPolicy(Policy.of({"spark.partitions": "2"}), ("b", "c", "d"), 4)
        >>> one = Exported("a", 1, Policy.of({"spark.splits": "1"}), "pro-a-g1", "SELECT 1")
        >>> Beside.of(one, every).describe()
        'spark.splits=1, without spark.partitions'
        >>> pinned = Exported("pinned", 3, ORIGINAL, "pro-pinned-g3", "SELECT 1")
        >>> Beside.of(pinned, every).describe()
        'without spark.partitions'
        """
        own = None if query.promotion_id is None else query.policy
        if query.missing:
            own = None if found.policy.within(query.policy) else ORIGINAL
        return Beside(query, found.differs(own or ORIGINAL), found.left_out_for(query.query_id, own))

    @property
    def differs(self) -> bool:
        return bool(self.policy.parts or self.without)

    def describe(self) -> str:
        told = [self.policy.describe()] if self.policy.parts else []
        return ", ".join([*told, *(f"without {name}" for name in self.without)]) or "nothing beside it"

    @property
    def alone(self) -> str:
        """Why it has the settings for all and nothing else, although its own policy is more than they are."""
        return "" if self.without else self.query.missing

    @property
    def text(self) -> str | None:
        return self.query.plain if self.query.missing else self.query.sql

    @property
    def remarks(self) -> list[str]:
        """What is to be said of it in comments."""
        generation = f", generation {self.query.generation}" if self.query.generation else ""
        suspended = f" ({self.query.suspended})" if self.query.suspended else ""
        said = [f"{self.query.query_id}{generation}: {self.describe()}{suspended}"]
        said += [f"its own policy is not exported: {self.query.missing}"] if self.query.missing else []
        warning = remark(by_cores(self.policy))
        return [*said, *([warning] if warning else [])]

    def facts(self) -> dict[str, Any]:
        return {
            **self.query.facts(),
            "policy_beside": self.policy.id,  # of the parts that follow; `policy_id` is the whole policy in force
            **self.policy.facts(),
            "without": list(self.without),
            "depends_on_cores": list(by_cores(self.policy)),
            "sql": self.text,
            "not_exported": None if self.alone else self.query.missing or None,
            "own_not_exported": self.query.missing or None,
        }


def rendered_for_all(
    workload: str,
    found: WorkloadPolicy,
    queries: Iterable[Exported],
    form: Format,
    session: Iterable[tuple[str, str]] = (),
) -> Iterator[str]:
    """The settings of the workload policy once, then every query with what differs, in pieces.

    `session` is what the workload file sets. An application has one value for each setting, so there what differs can
    stand in comments only.

    >>> every = WorkloadPolicy(Policy.of({"spark.sql.shuffle.partitions": "2"}), ("a", "b", "c"), 4)
    >>> one = Exported("a", 1, Policy.of({"spark.sql.shuffle.partitions": "2"}), "pro-a-g1", "SELECT 1")
    >>> other = Exported("d", 1, Policy.of({"spark.sql.shuffle.partitions": "8"}), "pro-d-g1", "SELECT 2")
    >>> print(*rendered_for_all("sales", every, [one, other], "spark-defaults"), sep="", end="")
    # for all queries: shuffle.partitions=2 (of use to 3 of 4 queries; not tried on the whole workload)
    # spark.sql.shuffle.partitions depends on the number of cores: measure it again on a cluster with another number
    # d, generation 1: shuffle.partitions=8
    # spark.sql.shuffle.partitions depends on the number of cores: measure it again on a cluster with another number
    # what differs is for single queries: `--format sql`, `python` or `json`
    spark.sql.shuffle.partitions 2
    """
    beside = (Beside.of(query, found) for query in queries)
    if form == "json":
        yield from json_object({"workload": workload, "workload_policy": found.facts()}, "queries", _facts(beside))
        yield "\n"
    elif form == "python":
        yield from _python(workload, found, beside)
    elif form == "sql":
        yield from _statements(found, beside, dict(session))
    else:
        yield from _application(found, beside, form)


def _facts(beside: Iterable[Beside]) -> Iterator[dict[str, Any]]:
    return (one.facts() for one in beside)


def _head(found: WorkloadPolicy) -> list[str]:
    warning = remark(by_cores(found.policy))
    return [f"for all queries: {found.describe()}", *([warning] if warning else [])]


def _application(found: WorkloadPolicy, beside: Iterable[Beside], form: Format) -> Iterator[str]:
    assert form in SETTINGS_ONLY
    yield "".join(f"# {said}\n" for said in _head(found))
    any_differs = False
    for one in beside:
        if one.differs or one.query.missing:
            any_differs = any_differs or one.differs
            yield "".join(f"# {said}\n" for said in one.remarks)
    if any_differs:
        yield "# what differs is for single queries: `--format sql`, `python` or `json`\n"
    yield from settings_lines(dict(found.policy.settings), form)


def _statements(found: WorkloadPolicy, beside: Iterable[Beside], own: Mapping[str, str]) -> Iterator[str]:
    """The settings for all once, each query between what differs, and your own values at the end."""
    for_all = dict(found.policy.settings)
    yield "".join(f"-- {said}\n" for said in _head(found))
    yield "".join(f"SET {name}={value};\n" for name, value in for_all.items())
    for one in beside:
        lines = [*(f"-- {said}" for said in one.remarks), *_between(one, for_all, own)]
        yield "\n" + "\n".join(lines) + "\n"
    yield "\n" + "".join(f"{set_back(name, own)}\n" for name in for_all)


def _between(one: Beside, for_all: Mapping[str, str], own: Mapping[str, str]) -> list[str]:
    """Before the query what differs, after it what held before: the value for all, else your own."""
    settings = dict(one.policy.settings)
    before = [set_back(name, own) for name in one.without] + [f"SET {n}={value};" for n, value in settings.items()]
    held = {**own, **for_all}
    return [*before, statement(one.text), *(set_back(name, held) for name in (*one.without, *settings))]


def _python(workload: str, found: WorkloadPolicy, beside: Iterable[Beside]) -> Iterator[str]:
    yield (
        f'"""Settings of workload {workload}, by `planopt export --workload-policy`. They work without planopt."""\n\n'
    )
    yield "".join(f"# {said}\n" for said in _head(found))
    yield (
        f"FOR_ALL = {pprint.pformat(dict(found.policy.settings), width=100)}\n"
        "SETTINGS = {}  # by query, only what differs; None: the value of the application\n"
        "SQL = {}  # queries whose policy has hints or rewrites\n"
    )
    for one in beside:
        if not one.differs and not one.query.missing:
            continue
        name, settings = one.query.query_id, {**dict.fromkeys(one.without), **dict(one.policy.settings)}
        yield "\n" + "".join(f"# {said}\n" for said in one.remarks)
        if settings:
            yield f"SETTINGS[{name!r}] = {pprint.pformat(settings, width=100)}\n"
        if one.policy.needs_text:
            yield f"SQL[{name!r}] = {pprint.pformat(one.query.sql, width=100)}\n"
    yield (
        "\n\n"
        "def session_for(spark, query_id):\n"
        '    """A new session with the settings. It has no temporary views or functions of `spark`."""\n'
        "    session = spark.newSession()\n"
        "    for name, value in {**FOR_ALL, **SETTINGS.get(query_id, {})}.items():\n"
        "        if value is not None:\n"
        "            session.conf.set(name, value)\n"
        "    return session\n"
    )
