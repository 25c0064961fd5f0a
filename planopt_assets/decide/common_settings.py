"""Settings that most queries of a workload gained from: worth a first try on a new one, and on all of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from planopt_assets.model.policy import Policy

FEWEST = 3  # queries that must have gained: two may be alike by chance


def common_settings(accepted: Mapping[str, Policy]) -> Policy:
    """The settings that the policies of more than half of these queries have. Original: there are none.

    `accepted` has the policy of every query that was tried, original where nothing helped it. A knob has one value with
    more than half of the queries at most, so nothing conflicts.

    >>> fewer, other = Policy.of({"spark.partitions": "2"}), Policy.of({"spark.partitions": "8", "spark.splits": "1"})
    >>> common_settings({"a": fewer, "b": fewer, "c": fewer, "d": other, "e": Policy()}).describe()
    'spark.partitions=2'
    >>> common_settings({"a": fewer, "b": fewer, "c": fewer, "d": other, "e": other, "f": other}).describe()
    'original'
    """
    counts = Counter(setting for policy in accepted.values() for setting in policy.settings)
    most = [s for s, queries in counts.items() if queries >= FEWEST and 2 * queries > len(accepted)]
    return Policy.of(dict(sorted(most)))
