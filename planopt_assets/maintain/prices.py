"""CPU prices of rewriting a table, in the units of the cost model of queries (`decide/prices.py`).

Measured with Spark 4.2 on two local cores: 3,000,000 rows of 5 columns in 64 files, CPU of the whole process. What a
rewrite costs has the high end as its price.
"""

from __future__ import annotations

from typing import Final

from planopt_assets.maintain.file_sizes import MIB

MERGE_ROW_NS: Final = 4_000  # OPTIMIZE: read a row and write it again; 3,100 to 5,300 seen
SORT_ROW_NS: Final = 7_000  # OPTIMIZE ZORDER BY: the same, with a shuffle and a sort; 5,600 to 8,000 seen
STATISTICS_ROW_NS: Final = 1_500  # reading every column of a row for its least and greatest values
SKIPPED_ROW_NS: Final = 100  # a row that is not decoded and not tested; q06 of TPC-H reads 6 M rows in 0.7 s in all
ROW_BYTES: Final = 32  # where the log does not tell rows
TRIAL_EXECUTIONS: Final = 7  # of each query: a first run and three pairs; the total is judged, so none takes more
QUERY_ROW_NS: Final = 500  # of a query with all it does above the scan; TPC-H at scale 1 takes 91 s for 180 M rows
COMMIT_NS: Final = 1_000_000  # reading one commit of the log
CHECKPOINT_NS: Final = 2_000_000_000  # writing a checkpoint: a Spark job
SMALLEST_SORTED: Final = 4 * MIB  # in smaller files of a sorted table, skipping spares less than opening costs
