"""Two stores of one workload hold the same content ids, or the difference is named."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from benchmarks.same_ids import main
from planopt_assets.store.schemas import TABLES
from planopt_tests.rows import stored

pytestmark = pytest.mark.fast


def store(folder: Path, **changes: object) -> str:
    known = {"decision_id": "dec_1", "rule": "r", "kind": "no_change", "arithmetic": '{"finding": "words", "n": 1}'}
    row = stored("policy_decisions", **{**known, **changes})
    write_deltalake(folder / "policy_decisions", pa.Table.from_pylist([row], schema=TABLES["policy_decisions"]))
    return str(folder)


def test_the_same_ids_in_other_words_are_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reworded = {"reason": "other words", "arithmetic": '{"n": 1, "finding": "said in another way"}'}
    assert main([store(tmp_path / "a"), store(tmp_path / "b", **reworded)]) == 0
    assert capsys.readouterr().out.endswith("same ids\n")


@pytest.mark.parametrize("change", [{"decision_id": "dec_2"}, {"arithmetic": '{"n": 2}'}, {"rule": "another"}])
def test_another_id_number_or_row_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str]
) -> None:
    assert main([store(tmp_path / "a"), store(tmp_path / "b", **change)]) == 1
    named = "in one store only" if "rule" in change else next(iter(change))
    assert named in capsys.readouterr().out


def test_two_stores_without_rows_are_not_the_same_but_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path / "nowhere"), str(tmp_path / "nor here")])
