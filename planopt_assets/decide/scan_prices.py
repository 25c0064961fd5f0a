"""What scans, filters and Python functions cost in CPU.

Measured with Spark 4.2 on two local cores: 2,000,000 rows of 7 columns in 20 files, executor CPU, medians of four
interleaved warm runs. What a change spares is priced at the lower end, what it costs at the higher.

A row that is not read is priced as the model of the whole query prices one, because the share is what counts: where
page statistics left out nearly all rows CPU fell from 122 to 94 ms, where dictionaries did from 139 to 48 ms.
"""

from __future__ import annotations

from typing import Final

from planopt_assets.decide.prices import CPU_PER_ROW_NS

READ_ROW_NS: Final = CPU_PER_ROW_NS
TEST_ROW_NS: Final = 50  # one more comparison of a row that is read
PROBE_ROW_NS: Final = 50  # hashing the key of one row and asking a bloom filter
WIDE_ROW_NS: Final = 100  # a row in a batch of 8 MB instead of 2 MB: 381 against 323 ms, half of that

# Looking in vain, per file of about six row groups. With everything on 32 ms more than without push-down over 20 files,
# about as much as repeats differ: an eighth of it for each.
PUSHED_FILE_NS: Final = 200_000
PAGE_INDEX_FILE_NS: Final = 200_000
DICTIONARY_FILE_NS: Final = 200_000

PICKLED_ROW_NS: Final = 800  # carrying one row to Python and back by pickling, more than by Arrow; 840 to 1,260 seen
