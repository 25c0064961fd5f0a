"""Which versions stand in the way of taking a layout back: all that others wrote since it began. Without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.engine.delta.undoing import check_only_layout
from planopt_assets.errors import UndoRefused
from planopt_tests.engine.logs import commit, metadata

pytestmark = pytest.mark.fast

OURS = {"commitInfo": {"userMetadata": "planopt mnt-1"}}
APPEND = {"add": {"path": "a", "size": 1, "dataChange": True}}
REWRITE = {"add": {"path": "b", "size": 1, "dataChange": False}}


def checked(folder: Path, *commits: list[dict[str, Any]]) -> None:
    for version, actions in enumerate([[APPEND], *commits]):
        commit(folder, version, *actions)
    check_only_layout(LogFiles("sales", str(folder)), "sales", after=0, newest=len(commits))


def test_own_commits_and_layouts_of_others_do_not(tmp_path: Path) -> None:
    checked(tmp_path, [OURS, {"metaData": metadata()}], [REWRITE], [OURS, REWRITE])


@pytest.mark.parametrize(
    "of_others",
    [
        [APPEND],
        [{"remove": {"path": "a", "dataChange": True}}],
        [{"cdc": {"path": "c"}}],
        [{"metaData": metadata()}],
        [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 7}}],
        [{"domainMetadata": {"domain": "delta.clustering", "configuration": "{}", "removed": False}}],
        [],
    ],
    ids=["append", "delete", "change feed", "properties", "protocol", "clustering columns", "empty commit"],
)
def test_what_others_wrote_between_two_commits_of_the_action_does(
    tmp_path: Path, of_others: list[dict[str, Any]]
) -> None:
    with pytest.raises(UndoRefused, match="version 2 was written after it began, and version 0 does not have"):
        checked(tmp_path, [OURS, {"metaData": metadata()}], of_others, [OURS, REWRITE])


def test_a_count_of_row_ids_that_comes_with_a_rewrite_does_not(tmp_path: Path) -> None:
    ids = {"domainMetadata": {"domain": "delta.rowTracking", "configuration": "{}", "removed": False}}
    checked(tmp_path, [OURS, REWRITE], [REWRITE, ids])
