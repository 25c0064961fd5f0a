"""The arms of the benchmark by name, and what they are in words."""

from __future__ import annotations

WORDS = {
    "original": "tables as appended, Spark's defaults",
    "partitions_8": "`spark.sql.shuffle.partitions = 8` for all",
    "global_tuning": "8 partitions, 64 MB broadcast threshold, 64 MB splits for all",
    "auto_compaction": "appended with Delta's auto compaction and optimized writes",
    "optimize": "plain `OPTIMIZE` of every table",
    "optimize_8": "plain `OPTIMIZE` of every table, 8 partitions for all",
    "planopt_settings": "planopt, policies alone",
    "three_knobs": "three knobs tried per query, with as many executions as planopt",
    "planopt_layout": "planopt, layouts and policies",
    "grid": "a grid of four knobs tried per query: the reachable limit of these",
}
ARMS = tuple(WORDS)
ON_REQUEST = ("grid",)
BY_DEFAULT = tuple(name for name in ARMS if name not in ON_REQUEST)

SAME_FOR_ALL = ("partitions_8", "global_tuning")
"""One setting for every query, on the tables as they are: what planopt's policies have to beat."""
REMEDIES = ("auto_compaction", "optimize", "optimize_8")
"""The same for every table: with those above, what planopt's layouts have to beat."""
