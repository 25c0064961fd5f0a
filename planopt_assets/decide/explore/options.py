"""The declared list of what exploration may try: one knob or a pair, with the plans that it can make a difference to.

Every knob is in the catalogue, so the veto and the workload file have the last word. A value that is in force already,
or a knob that the accepted policy sets, is no option. A broadcast is one only where all that it newly lets in is known
to fit into the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planopt_assets.decide.driver_memory import THRESHOLD, has_room_below, let_in
from planopt_assets.decide.explore.touched import (
    Touches,
    blocks,
    builds,
    grouped_rows,
    reading_tasks,
    scanning_tasks,
    sorts,
    sorts_and_shuffles,
    touched_share,
)
from planopt_assets.decide.knobs import knob, size_in_bytes
from planopt_assets.decide.row_prices import MIB
from planopt_assets.decide.runtime_filters import filterable_ns
from planopt_assets.decide.setting_in_force import bytes_in_force, in_force
from planopt_assets.decide.shuffle_settings import (
    ADVISORY,
    MIN_SIZE,
    PARALLELISM_FIRST,
    PARTITIONS,
    adaptive,
    coalesces,
    partitions_knob,
)
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import Policy

HASH_MAP = "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold"
PREFER_MERGE = "spark.sql.join.preferSortMergeJoin"
SPLIT = "spark.sql.files.maxPartitionBytes"
BLOOM = "spark.sql.optimizer.runtime.bloomFilter"
TWO_LEVEL = "spark.sql.codegen.aggregate.map.twolevel.enabled"
MAP_BITS = "spark.sql.codegen.aggregate.fastHashMap.capacityBit"
SORTED = "spark.sql.execution.replaceHashWithSortAgg"

FILTERED_BROADCAST = 32 * MIB

Fits = Callable[[Evidence], bool]
CORES = "x cores"
"""How a number of partitions is declared: so many for each core."""


@dataclass(frozen=True, slots=True)
class Option:
    """Settings to try together, and whether they can matter to a plan."""

    name: str
    settings: tuple[tuple[str, str], ...]
    fits: Fits
    touches: tuple[Touches, ...] = ()  # what of a run it can change

    def policy(self, evidence: Evidence) -> Policy:
        """As it would be set on these cores."""
        return Policy.of({_name(n, evidence): _value(value, evidence) for n, value in self.settings})


def options_for(evidence: Evidence) -> dict[str, Policy]:
    """By name, in the order of the list: those that fit the plan and are not what is in force."""
    found = {o.name: o.policy(evidence) for o in OPTIONS if o.fits(evidence)}
    held = {name for name, _ in evidence.policy.settings}
    return {
        name: policy
        for name, policy in found.items()
        if held.isdisjoint(n for n, _ in policy.settings) and not _is_in_force(policy, evidence)
    }


def touched_by(evidence: Evidence) -> dict[str, float]:
    """By name: the share of a run that each option can change."""
    return {o.name: touched_share(o.touches, evidence) for o in OPTIONS}


def _name(name: str, evidence: Evidence) -> str:
    return partitions_knob(evidence) if name == PARTITIONS else name


def _value(value: str, evidence: Evidence) -> str:
    return str(int(value.removesuffix(CORES)) * evidence.cores) if value.endswith(CORES) else value


def _is_in_force(policy: Policy, evidence: Evidence) -> bool:
    return all(_same(name, value, in_force(evidence, name)) for name, value in policy.settings)


def _same(name: str, value: str, now: str | None) -> bool:
    """Spark shows a size as `67108864b`."""
    entry = knob(name)
    if now is None or entry is None:
        return False
    return size_in_bytes(value) == size_in_bytes(now) if entry.kind == "bytes" else value == now.lower()


def _shuffles(evidence: Evidence) -> bool:
    return any(e.exchanges for e in evidence.executions)


def _merges(evidence: Evidence) -> bool:
    return any(j.strategy == "SortMergeJoin" for e in evidence.executions for j in e.joins)


def _filters(evidence: Evidence) -> bool:
    """Whether an input with a predicate meets rows without a match, however many: what a filter could drop."""
    return filterable_ns(evidence) > 0


def _filters_and_merges(evidence: Evidence) -> bool:
    return _filters(evidence) and _adaptive_merges(evidence)


def _adaptive_merges(evidence: Evidence) -> bool:
    return adaptive(evidence) and _merges(evidence)


def _coalescing(evidence: Evidence) -> bool:
    return coalesces(evidence) and _shuffles(evidence)


def _broadcasts_above(lowered: int) -> Fits:
    """Whether something is broadcast, below a threshold that can be lowered to this."""

    def fits(evidence: Evidence) -> bool:
        lower = (bytes_in_force(evidence, THRESHOLD) or 0) > lowered
        return lower and any(j.strategy == "BroadcastHashJoin" for e in evidence.executions for j in e.joins)

    return fits


def _scans(evidence: Evidence) -> bool:
    return any(s.bytes > MIB for e in evidence.executions for s in e.scans)


def _aggregates(evidence: Evidence) -> bool:
    return any(a.keys for e in evidence.executions for a in e.aggregations)


def _merges_and_aggregates(evidence: Evidence) -> bool:
    return _merges(evidence) and _aggregates(evidence)


def _lets_in(raised: int) -> Fits:
    """Whether a higher threshold broadcasts something new, and only what the driver is known to have room for."""

    def fits(evidence: Evidence) -> bool:
        now = bytes_in_force(evidence, THRESHOLD)
        if now is None or not 0 <= now < raised:
            return False
        new = (j for e in evidence.executions for j, _ in let_in(e, raised) if not j.strategy.startswith("Broadcast"))
        return any(new) and has_room_below(evidence, raised)

    return fits


def _filters_and_broadcasts(evidence: Evidence) -> bool:
    return _filters(evidence) and _lets_in(FILTERED_BROADCAST)(evidence)


def _option(name: str, settings: Mapping[str, str | int], fits: Fits, *touches: Touches) -> Option:
    return Option(name, tuple((knob_name, str(value)) for knob_name, value in settings.items()), fits, touches)


_FILTERS: dict[str, str | int] = {
    f"{BLOOM}.enabled": "true",
    f"{BLOOM}.creationSideThreshold": 30 * MIB,
    f"{BLOOM}.applicationSideScanSizeThreshold": MIB,
}
# The map takes partitions of the advisory size, and no larger ones.
_HASHED: dict[str, str | int] = {HASH_MAP: 16 * MIB, ADVISORY: 16 * MIB}

OPTIONS: tuple[Option, ...] = (
    # Joins
    _option("hash joins of 16 MiB partitions", _HASHED, _adaptive_merges, sorts),
    _option("hash joins by estimate", {PREFER_MERGE: "false"}, _merges, sorts),
    _option("runtime filters", _FILTERS, _filters, filterable_ns),
    _option("runtime filters and hash joins", {**_FILTERS, **_HASHED}, _filters_and_merges, filterable_ns, sorts),
    _option(
        "runtime filters and broadcasts up to 32 MiB",
        {**_FILTERS, THRESHOLD: FILTERED_BROADCAST},
        _filters_and_broadcasts,
        filterable_ns,
        sorts_and_shuffles,
        blocks,
    ),
    _option("broadcasts up to 32 MiB", {THRESHOLD: 32 * MIB}, _lets_in(32 * MIB), sorts_and_shuffles, blocks),
    _option("broadcasts up to 128 MiB", {THRESHOLD: 128 * MIB}, _lets_in(128 * MIB), sorts_and_shuffles, blocks),
    _option("broadcasts up to 1 MiB", {THRESHOLD: MIB}, _broadcasts_above(MIB), builds),
    # Shuffles
    _option("one partition a core", {PARTITIONS: f"1{CORES}"}, _shuffles, blocks),
    _option("four partitions a core", {PARTITIONS: f"4{CORES}"}, _shuffles, blocks),
    _option("reads of 16 MiB", {ADVISORY: 16 * MIB, PARALLELISM_FIRST: "false"}, _coalescing, reading_tasks),
    _option("reads of at least 8 MiB", {MIN_SIZE: 8 * MIB}, _coalescing, reading_tasks),
    # Scans
    _option("splits of 32 MiB", {SPLIT: 32 * MIB}, _scans, scanning_tasks),
    _option("splits of 256 MiB", {SPLIT: 256 * MIB}, _scans, scanning_tasks),
    _option(
        "splits of 32 MiB, four partitions a core",
        {SPLIT: 32 * MIB, PARTITIONS: f"4{CORES}"},
        _shuffles,
        scanning_tasks,
        blocks,
    ),
    # Aggregations
    _option("no small map before the large one", {TWO_LEVEL: "false"}, _aggregates, grouped_rows),
    _option("a small map of a million groups", {MAP_BITS: 20}, _aggregates, grouped_rows),
    _option("aggregations of sorted input", {SORTED: "true"}, _merges_and_aggregates, grouped_rows),
)
