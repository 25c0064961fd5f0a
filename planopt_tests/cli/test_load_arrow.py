"""Which allocator Arrow has in the commands that read a store."""

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
