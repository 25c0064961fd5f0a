"""Content ids: the same content has the same id, in any process, on any day."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.ids import content_id
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.store.codecs.maintaining import PROPOSALS
from planopt_tests.fresh_python import output_of

pytestmark = pytest.mark.fast

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
PLAIN = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)

# Iterating a set of texts follows PYTHONHASHSEED, so the dict below is in another order in every process.
IN_ANOTHER_PROCESS = """
from planopt_assets.model.ids import content_id
from planopt_assets.model.policy import Policy
names = {"spark.sql." + name for name in ("shuffle", "files", "join", "adaptive", "cbo", "parquet")}
print(content_id("tst", {name: {"of": name} for name in names}))
print(Policy.of({name: "1" for name in names}).id)
"""


def reordered(content: Any, seed: int) -> Any:
    """The same content with the entries of every dict in another order."""
    if isinstance(content, dict):
        entries = [(key, reordered(value, seed)) for key, value in content.items()]
        random.Random(seed).shuffle(entries)
        return dict(entries)
    return [reordered(item, seed) for item in content] if isinstance(content, list) else content


@settings(deadline=None)
@given(PLAIN, st.integers())
def test_the_order_of_dict_entries_does_not_matter(content: Any, seed: int) -> None:
    assert content_id("tst", reordered(content, seed)) == content_id("tst", content)


def test_the_order_of_a_list_matters() -> None:
    assert content_id("tst", ["a", "b"]) != content_id("tst", ["b", "a"])


def test_values_of_different_types_are_different_content() -> None:
    alike = [1, "1", 1.0, True, None, "", [], {}, [1], {"1": 1}]
    assert len({content_id("tst", value) for value in alike}) == len(alike)


def test_an_id_names_its_kind_and_has_sixteen_hex_digits() -> None:
    assert re.fullmatch(r"dec_[0-9a-f]{16}", content_id("dec", {"any": "content"}))


def test_the_same_content_of_two_kinds_has_the_same_digits() -> None:
    assert content_id("pln", [1]).removeprefix("pln") == content_id("top", [1]).removeprefix("top")


def test_text_in_any_language_has_an_id() -> None:
    assert content_id("tst", "Größe") != content_id("tst", "Grösse")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        content_id("tst", [value])


def test_ids_are_the_same_in_processes_with_different_hash_seeds() -> None:
    first, second = (output_of(IN_ANOTHER_PROCESS, hash_seed=seed) for seed in (1, 2))
    assert first == second
    assert [line[:4] for line in first.split()] == ["tst_", "pol_"]


def test_ids_that_stores_already_hold_stay_what_they_are() -> None:
    assert content_id("tst", {"a": [1, "é", None], "b": 0.5}) == "tst_a32b7963c10e1353"
    assert ORIGINAL.id == "pol_4bb5a901333f9e84"
    assert Policy.of({"spark.sql.shuffle.partitions": "8"}).id == "pol_50df09863af0d018"


def test_the_ids_of_a_layout_stay_what_stores_hold() -> None:
    """They cover `only_where`, which every stored proposal has empty and no noun has any more."""
    made = LayoutProposal("orders", "t-1", 7, "zorder", ("day",), 2**25, (("a", "b"),))
    assert (made.id, made.layout_id) == ("lay_9c17fdb1621a9691", "lyt_9afb7698b4894605")
    row = PROPOSALS.to_row(made)
    assert (row["proposal_id"], row["only_where"]) == (made.id, "")  # an older planopt makes the same id of it
    assert PROPOSALS.from_row(row) == made
