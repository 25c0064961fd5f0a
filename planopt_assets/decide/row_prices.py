"""What a row or a byte costs in CPU in joins, shuffles and aggregations.

Measured with Spark 4.2 on two local cores: CPU of the whole process, medians of three interleaved warm runs, beside
what the same changes gave over TPC-H. What a change spares is priced at the lower end of it, what it costs at the
higher, so that no gain is promised too high.
"""

from __future__ import annotations

from typing import Final

MIB: Final = 1024 * 1024

# Spared, at least
SHUFFLE_ROW_NS: Final = 150  # writing one row of a join's input into a shuffle and reading it; 300 seen, TPC-H from 170
SORT_ROW_NS: Final = 100  # sorting it for a merge join; 330 seen, TPC-H from 200
LOOKUP_ROW_NS: Final = 50  # a row of an aggregation that goes past the fast map to the large one; 60 to 200 seen
RESORT_ROW_NS: Final = 100  # a row of an object aggregation that gave up hashing and sorts; 230 seen
SPILL_BYTE_NS: Final = 1  # a byte of memory that is written to disk, and read again; 1.9 seen

# Paid, at most; half of it is what not doing it spares
BUILD_ROW_NS: Final = 600  # collecting one row on the driver and putting it into the table that is broadcast
HASH_ROW_NS: Final = 250  # putting one row into the table of a shuffled hash join
