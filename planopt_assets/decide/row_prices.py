"""CPU prices of a row or a byte in joins, shuffles and aggregations.

Measured with Spark 4.2 on two local cores: CPU of the whole process, medians of three interleaved warm runs, checked
against the gains of the same changes over TPC-H. What a change saves has the low end as its price, what it costs the
high end. So no gain is promised too high.
"""

from __future__ import annotations

from typing import Final

MIB: Final = 1024 * 1024

# Saved, at least
SHUFFLE_ROW_NS: Final = 150  # writing one row of a join's input to a shuffle and reading it; 300 seen, TPC-H from 170
SORT_ROW_NS: Final = 100  # sorting it for a merge join; 330 seen, TPC-H from 200
FILTERED_ROW_NS: Final = 300  # a row that is dropped before a shuffled join; TPC-H q05 344, q10 490
SORT_MERGE_ROW_NS: Final = 200  # sorting it and merging it, instead of probing a table; TPC-H q21 300, others from 200
LOOKUP_ROW_NS: Final = 50  # a row of an aggregation that misses the fast map and goes to the large one; 60 to 200 seen
GROUP_ROW_NS: Final = 150  # a row that is grouped by a key, all of it; 500 seen in TPC-H q17
RESORT_ROW_NS: Final = 100  # a row of an object aggregation that fell back to sorting; 230 seen
SPILL_BYTE_NS: Final = 1  # a byte of memory written to disk and read again; 1.9 seen

# Paid, at most. A change that avoids this work is credited with half of the price.
BUILD_ROW_NS: Final = 600  # collecting one row on the driver and adding it to the broadcast table
SHUFFLE_ROW_PAID_NS: Final = 300  # writing one row to a shuffle that was not there, and reading it
GROUP_ROW_PAID_NS: Final = 500  # grouping one more row by a key
HASH_ROW_NS: Final = 250  # adding one row to the table of a shuffled hash join
