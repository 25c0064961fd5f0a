"""How Arrow is loaded in the commands that read a store: its allocator, and without pandas."""

from __future__ import annotations

import pytest

from planopt_tests.fresh_python import output_of

pytestmark = pytest.mark.fast

_LOADED = """
import os
from planopt_assets.cli.command import load_arrow
{before}
load_arrow()
import pyarrow
print(pyarrow.default_memory_pool().backend_name, os.environ.get("ARROW_DEFAULT_MEMORY_POOL"))
"""


def test_arrow_takes_its_memory_from_malloc_and_no_child_process_inherits_that() -> None:
    assert output_of(_LOADED.format(before="")).split() == ["system", "None"]


def test_an_allocator_that_somebody_chose_stays() -> None:
    chosen = 'os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "mimalloc"'
    assert output_of(_LOADED.format(before=chosen)).split() == ["mimalloc", "mimalloc"]


def test_a_process_that_has_loaded_arrow_keeps_what_it_has() -> None:
    assert output_of(_LOADED.format(before="import pyarrow")).split() == ["mimalloc", "None"]


_WITHOUT_PANDAS = """
import sys
from planopt_assets.cli.command import know_pandas, load_arrow
load_arrow()
import pyarrow, pyarrow.dataset
print("pandas" in sys.modules)
know_pandas()
import pandas
print(pyarrow.array(pandas.Series([1.0, None])).null_count)
"""


def test_pandas_is_not_loaded_to_read_a_store_and_arrow_knows_it_before_queries_run() -> None:
    assert output_of(_WITHOUT_PANDAS).split() == ["False", "1"]
