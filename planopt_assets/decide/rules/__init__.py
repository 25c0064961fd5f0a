"""The rules, in the order in which they are asked.

A rule is one file and one pure function from evidence to an answer. To add one: write the file, list it here with
the reason for its place, and add fixtures in `planopt_tests/decide/fixtures`. If a rule's answers change, raise
`RULES_VERSION`: it re-opens queries that were settled under the old version.
"""

from __future__ import annotations

from collections.abc import Callable

from planopt_assets.decide.answer import Answer
from planopt_assets.decide.rules import (
    aggregate_before_join,
    arrow_python_udf,
    broadcast_small_side,
    climb_pruning_ladder,
    coalesce_reads,
    delta_scan_settings,
    drop_costly_broadcast,
    enable_runtime_filters,
    exclude_rules,
    normalise_predicates,
    partial_aggregation,
    prefer_hash_join,
    relieve_spill,
    right_size_shuffle,
    right_size_splits,
    split_skew,
    swap_build_side,
)
from planopt_assets.model.evidence import Evidence

RULES_VERSION = 14

RULES: tuple[tuple[str, Callable[[Evidence], Answer]], ...] = (
    # First: the cost of shuffles limits what any later change can gain.
    (right_size_shuffle.NAME, right_size_shuffle.right_size_shuffle),
    # Second: independent of shuffles. It only changes how scans are split.
    (right_size_splits.NAME, right_size_splits.right_size_splits),
    # Joins: a broadcast removes the shuffle. Then the three rules below have nothing to do.
    (broadcast_small_side.NAME, broadcast_small_side.broadcast_small_side),
    # A join that is a hash join already: only the build side changes.
    (swap_build_side.NAME, swap_build_side.swap_build_side),
    # A broadcast that the rule before could not turn round: its input is given.
    (drop_costly_broadcast.NAME, drop_costly_broadcast.drop_costly_broadcast),
    # A join that stays shuffled: without its sorts.
    (prefer_hash_join.NAME, prefer_hash_join.prefer_hash_join),
    # A join that stays shuffled: with its largest partition split.
    (split_skew.NAME, split_skew.split_skew),
    # After the joins: what they no longer shuffle or sort does not spill.
    (relieve_spill.NAME, relieve_spill.relieve_spill),
    # How shuffles are read: after the rules for how they are written and how large partitions may be.
    (coalesce_reads.NAME, coalesce_reads.coalesce_reads),
    # Independent of joins: inside one operator.
    (partial_aggregation.NAME, partial_aggregation.partial_aggregation),
    # After the joins, as they are: fewer rows reach one of them. It is another text, so it goes with any setting.
    (aggregate_before_join.NAME, aggregate_before_join.aggregate_before_join),
    # Scans: whole files first. A skipped file needs no rung of the ladder.
    (delta_scan_settings.NAME, delta_scan_settings.delta_scan_settings),
    # Before the ladder: no rung can use a predicate that is not pushed.
    (normalise_predicates.NAME, normalise_predicates.normalise_predicates),
    # Rows inside the files, one rung at a time.
    (climb_pruning_ladder.NAME, climb_pruning_ladder.climb_pruning_ladder),
    # After both: a runtime filter pays only for rows that the scan's own predicates do not skip.
    (enable_runtime_filters.NAME, enable_runtime_filters.enable_runtime_filters),
    # Independent of plans: how rows are moved to Python.
    (arrow_python_udf.NAME, arrow_python_udf.arrow_python_udf),
    # Last, and opt-in: exploration of what Spark's optimizer rules did.
    (exclude_rules.NAME, exclude_rules.exclude_rules),
)
