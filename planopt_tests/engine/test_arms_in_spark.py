"""An arm that reads a table from another place: its own session, gate and results, and the same names in plans."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.engine.user_job.policy_session import PolicySession
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import PolicyNotApplied, SqlRefused
from planopt_assets.loop.experiment import Experiment
from planopt_assets.model.arm import Arm
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query
from planopt_assets.observe.plans.fingerprint import plan_fingerprint, topology_hash
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.unknown_part import policy_with_a_property

pytestmark = pytest.mark.spark

BY_SHOP = Query("by_shop", sql="SELECT shop, count(*) AS n, max(id) AS newest FROM sales GROUP BY shop")
JOINED = Query("joined", sql="SELECT city, count(*) AS n FROM sales JOIN shops USING (shop) GROUP BY city")
SHOPS = Query("shops", sql="SELECT * FROM shops")
FRAME = Query("frame", python="frames:build")
MODULE = "def build(spark):\n    return spark.table('sales').groupBy('shop').count()\n"
FEWER = Policy.of({"spark.sql.shuffle.partitions": "2"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The usual tables, and a second `sales` of 90 rows in three shops, which no workload registers."""
    made = make_tables(tmp_path_factory.mktemp("arms"))
    (made / "frames.py").write_text(MODULE)
    ids = list(range(90))
    sales = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "shop": pa.array([i % 3 for i in ids], pa.int64()),
            "amount": pa.array([float(i) for i in ids], pa.float64()),
            "note": pa.array([f"n{i}" for i in ids], pa.string()),
        }
    )
    write_deltalake(made / "elsewhere" / "sales", sales)
    return made


@pytest.fixture
def workspace(spark, folder: Path) -> Iterator[Workspace]:
    made = Workspace(workload_of(folder, [BY_SHOP, JOINED, FRAME], allow_python=True))
    yield made
    made.close()


@pytest.fixture
def other(workspace: Workspace, folder: Path) -> Arm:
    """Nothing set, but `sales` is the second table."""
    return workspace.baseline.reading(workspace.pins.pin("sales", str(folder / "elsewhere" / "sales")))


def path_query(place: Path, version: int = 0) -> Query:
    return Query(f"in_{place.parent.name}", sql=f"SELECT id FROM delta.`{place}` VERSION AS OF {version}")


def rows(workspace: Workspace, query: Query, arm: Arm) -> int:
    digest = workspace.execute(query, 0, arm, timeout_s=60).digest
    assert digest is not None
    return digest.rows


@pytest.mark.parametrize("query", [BY_SHOP, FRAME], ids=["sql", "python"])
def test_an_arm_reads_its_own_tables(workspace: Workspace, other: Arm, query: Query) -> None:
    arms = (workspace.baseline, other, workspace.baseline, other)
    assert [rows(workspace, query, arm) for arm in arms] == [17, 3, 17, 3]


def test_arms_with_the_same_settings_and_other_tables_share_no_session(workspace: Workspace, other: Arm) -> None:
    sessions = [workspace.isolated(arm) for arm in (workspace.baseline, other, other.under(FEWER))]
    assert len({id(session) for session in sessions}) == 3
    assert workspace.isolated(other) is sessions[1]


def test_the_same_plan_over_another_place_has_the_same_fingerprint(workspace: Workspace, other: Arm) -> None:
    (before, splits), (after, other_splits) = (workspace.plan(BY_SHOP, 0, arm) for arm in (workspace.baseline, other))
    assert topology_hash(after) == topology_hash(before)
    assert plan_fingerprint(after) == plan_fingerprint(before)
    assert splits.keys() == other_splits.keys() == {"sales"}
    fewer, _ = workspace.plan(BY_SHOP, 0, other.under(FEWER))
    assert topology_hash(fewer) != topology_hash(before)


def test_scans_and_what_their_tables_offer_are_those_of_the_arm(workspace: Workspace, other: Arm) -> None:
    for arm, files in ((workspace.baseline, 6), (other, 1)):
        done = workspace.execute(BY_SHOP, 0, arm, timeout_s=60, tier="always_on")
        assert [scan.table for scan in done.scans] == ["sales"]
        assert done.offers["sales"].files == files
        assert done.counters.scan_files == files


def test_tables_of_one_name_and_version_in_two_places_are_told_apart(workspace: Workspace, folder: Path) -> None:
    place = folder / "elsewhere" / "shops"
    write_deltalake(place, pa.table({"shop": pa.array([1], pa.int64()), "city": pa.array(["c"])}))
    arms = (workspace.baseline, workspace.baseline.reading(workspace.pins.pin("shops", str(place))))
    offered = [workspace.execute(SHOPS, 0, arm, timeout_s=60, tier="always_on").offers["shops"] for arm in arms]
    assert [offer.version for offer in offered] == [0, 0]
    assert offered[0].bytes != offered[1].bytes


# The gate


def test_the_gate_lets_each_arm_read_its_own_places_only(workspace: Workspace, other: Arm, folder: Path) -> None:
    registered, elsewhere = path_query(folder / "data" / "sales", 5), path_query(folder / "elsewhere" / "sales")
    assert rows(workspace, registered, workspace.baseline) == 1800
    assert rows(workspace, elsewhere, other) == 90
    for query, arm in ((registered, other), (elsewhere, workspace.baseline)):
        with pytest.raises(SqlRefused, match="not a registered table"):
            workspace.frame(query, 0, arm)


def test_a_place_in_no_arm_is_refused_in_all(workspace: Workspace, other: Arm, folder: Path) -> None:
    place = folder / "nobodys"
    write_deltalake(place, pa.table({"id": pa.array([1], pa.int64())}), mode="overwrite")
    for arm in (workspace.baseline, other):
        with pytest.raises(SqlRefused, match="not a registered table"):
            workspace.frame(path_query(place), 0, arm)


def test_a_policy_with_a_part_that_nothing_applies_does_not_run(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = policy_with_a_property(monkeypatch)
    with pytest.raises(PolicyNotApplied, match=r"no query can carry delta\.x"):
        workspace.frame(BY_SHOP, 0, workspace.arm(policy))
    with pytest.raises(PolicyNotApplied, match=r"no query can carry delta\.x"):
        PolicySession(workspace.spark, policy, ())


# What else depends on the arm


def test_the_tables_a_query_reads_are_the_arms(workspace: Workspace, other: Arm) -> None:
    assert workspace.tables_read(BY_SHOP, other) == other.tables  # not seen by the gate yet
    workspace.frame(BY_SHOP, 0, workspace.baseline)
    (sales,) = workspace.tables_read(BY_SHOP, other)
    assert sales == next(t for t in other.tables if t.name == "sales")
    assert workspace.tables_read(BY_SHOP, workspace.baseline) == tuple(t for t in workspace.tables if t.name == "sales")
    assert workspace.newest_versions(BY_SHOP, workspace.baseline) == {"sales": 5}
    assert workspace.newest_versions(BY_SHOP, other) == {"sales": 0}


def test_a_run_in_another_arm_does_not_warm_the_baseline_up(workspace: Workspace, other: Arm) -> None:
    workspace.execute(JOINED, 0, other, timeout_s=60)
    assert not workspace.has_run(JOINED, workspace.baseline)
    workspace.execute(JOINED, 0, workspace.baseline, timeout_s=60)
    assert workspace.has_run(JOINED, workspace.baseline)


def test_two_arms_are_compared_row_by_row(workspace: Workspace, other: Arm) -> None:
    found = workspace.difference(BY_SHOP, 0, workspace.baseline, other, timeout_s=60)
    assert found == "20 rows are only in one of the two results"
    assert workspace.difference(BY_SHOP, 0, other, other.under(FEWER), timeout_s=60) == ""


def test_an_experiment_races_the_same_policy_over_another_table(workspace: Workspace, other: Arm) -> None:
    observed = workspace.execute(BY_SHOP, 0, workspace.baseline, timeout_s=60).digest
    assert observed is not None
    experiment = Experiment(
        workspace,
        BY_SHOP,
        [Candidate("by_shop", ORIGINAL, (), True, "", "", "", "", "")],
        [observed],
        trial_prefix="tri",
        run_deadline=float("inf"),
        arm_of=lambda candidate: other,
    )
    (judged,) = experiment.run()
    assert (judged.judgement.outcome, judged.judgement.results_equal) == ("reject", False)
    assert "17 rows expected, 3 found" in judged.judgement.reason
    assert {t.policy_id for t in experiment.trials} == {ORIGINAL.id}
    assert len({t.id for t in experiment.trials}) == len(experiment.trials)
