"""CPU prices of scans, filters and Python functions.

Measured with Spark 4.2 on two local cores: 2,000,000 rows of 7 columns in 20 files, executor CPU, medians of four
interleaved warm runs. What a change saves has the low end as its price, what it costs the high end.

A skipped row costs 1 µs (`prices.CPU_PER_ROW_NS`) in a query that is as dear as that, and less in a cheaper one
(`prices.scan_dearness`): only the share matters. Measured: page statistics that skipped nearly all rows took CPU from
122 to 94 ms, dictionaries from 139 to 48 ms.
"""

from __future__ import annotations

from typing import Final

TEST_ROW_NS: Final = 50  # one more comparison of a row that is read
PROBE_ROW_NS: Final = 50  # hashing the key of one row and probing a bloom filter
REREAD_ROW_NS: Final = 120  # scanning one row once more, few columns with a predicate; TPC-H q06 takes 117
FILTER_ITEM_NS: Final = 100  # adding one row to a bloom filter; TPC-H q04 takes 80 for 3,800,000 rows
WIDE_ROW_NS: Final = 100  # a row in a batch of 8 MB instead of 2 MB: 381 against 323 ms, half of that

# A useless lookup, per file of about six row groups. All lookups together: 32 ms more over 20 files than without
# push-down, which is about the noise. Each gets an eighth of it.
PUSHED_FILE_NS: Final = 200_000
PAGE_INDEX_FILE_NS: Final = 200_000
DICTIONARY_FILE_NS: Final = 200_000

PICKLED_ROW_NS: Final = 800  # moving one row to Python and back: what pickling costs more than Arrow; 840 to 1,260 seen
