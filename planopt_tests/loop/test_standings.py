"""What still counts when something changed: another spelling, another table version, another query."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from planopt_assets.decide import decide as decide_module
from planopt_assets.decide.answer import Answer, propose
from planopt_assets.loop.agenda import agenda_of
from planopt_assets.loop.decisions import decisions_for
from planopt_assets.loop.run import read_standings
from planopt_assets.loop.standing import Standing
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import Policy
from planopt_assets.model.promotion import Chain
from planopt_assets.model.workload import Budgets, Query, Table, Workload
from planopt_assets.promote.transitions import Accept, Event, Expire, Revert, next_generation
from planopt_assets.report.standing_facts import standing_facts
from planopt_assets.store.codecs.deciding import DECISIONS, VERDICTS
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.rows import FEWER
from planopt_tests.store.written import MIB, WrittenStore
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast

QUERY = Query("q", sql="SELECT shop, count(*) AS n FROM sales WHERE shop < 5 GROUP BY shop", runs_per_day=24)
REFORMATTED = replace(
    QUERY, sql="select s.shop, count(*) as n -- per shop\nfrom sales s where s.shop < 5 group by s.shop"
)
CHANGED = replace(QUERY, sql="SELECT shop, count(*) AS n FROM sales WHERE shop < 6 GROUP BY shop")


@pytest.fixture
def written(tmp_path: Path) -> WrittenStore:
    commit(tmp_path)
    tables = (Table("sales", str(tmp_path / "sales")),)
    store = str(tmp_path / "store")
    quiet = Budgets(explore=0.0)
    return WrittenStore(
        Workload("demo", tmp_path / "planopt.yaml", store, tables, (QUERY,), master="local[2]", budgets=quiet)
    )


@pytest.fixture(autouse=True)
def one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that always proposes the same, in the place of planopt's own: what counts here is what becomes of it."""

    def rule(evidence: Evidence) -> Answer:
        return propose(dict(FEWER.settings), "because", saved_cpu_ns=480_000_000, arithmetic={"n": 1})

    monkeypatch.setattr(decide_module, "RULES", (("any_rule", rule),))


def commit(folder: Path) -> None:
    """One more version of the table."""
    rows = pa.table({"shop": pa.array([1, 2], pa.int64()), "amount": pa.array([1.0, 2.0])})
    write_deltalake(folder / "sales", rows, mode="append")


def snapshot(written: WrittenStore) -> Snapshot:
    return Snapshot(written.workload.store, written.workload.name)


def standing(written: WrittenStore, query: Query = QUERY) -> Standing:
    return read_standings(replace(written.workload, queries=(query,)))["q"]


def decide(written: WrittenStore, run_id: str) -> Standing:
    """What the decide stage would store, stored."""
    while not (found := standing(written)).decided:
        for decision in decisions_for(written.workload, snapshot(written), found, found.base):
            written.append("policy_decisions", DECISIONS.to_row(decision), run_id=run_id)
    return found


# Another spelling


def test_a_reformatted_query_keeps_its_evidence(written: WrittenStore) -> None:
    written.observe(QUERY, "r1")
    decide(written, "r1")
    found = standing(written, REFORMATTED)
    assert found.observed
    assert found.decided
    assert found.query_fingerprint != standing(written).query_fingerprint
    assert found.decisions == standing(written).decisions


def test_a_query_that_means_something_else_has_none(written: WrittenStore) -> None:
    written.observe(QUERY, "r1")
    found = standing(written, CHANGED)
    assert not found.observed
    assert found.changes == ("its text or its parameters",)


def test_another_spelling_with_another_parameter_has_none(written: WrittenStore) -> None:
    written.observe(QUERY, "r1")
    assert not standing(written, replace(REFORMATTED, bindings=((("since", "1995"),),))).observed


def test_where_a_hint_was_tried_the_text_counts_as_it_is_written(written: WrittenStore) -> None:
    inputs = written.observe(QUERY, "r1")
    hinted = Policy.of(hints=["broadcast(join0.right s)"])
    row = {"candidate_id": "can_1", "policy_id": hinted.id, "policy": hinted.to_json(), "input_fingerprint": inputs}
    written.append("candidate_plans", {**row, "kept": False, "reason": "dropped", "diff": ""}, run_id="r1")
    assert standing(written).observed
    assert not standing(written, REFORMATTED).observed


def test_a_reformatted_query_on_a_new_version_is_observed_and_not_tried_again(
    written: WrittenStore, tmp_path: Path
) -> None:
    written.observe(QUERY, "r1")
    verdict = written.judge(standing(written), FEWER, "reject", "r1")
    commit(tmp_path)
    assert not standing(written, REFORMATTED).observed
    written.observe(REFORMATTED, "r2")
    (decision,) = decisions_for(written.workload, snapshot(written), standing(written, REFORMATTED))
    assert decision.reason == f"rejected before: the reason for reject ({verdict})"


# Another table version


def test_a_new_table_version_is_observed_again_and_says_why(written: WrittenStore, tmp_path: Path) -> None:
    written.observe(QUERY, "r1")
    commit(tmp_path)
    found = standing(written)
    assert (found.observed, found.changes) == (False, ("sales v0 -> v1",))


def test_without_history_the_proposal_is_there(written: WrittenStore) -> None:
    written.observe(QUERY, "r1")
    assert decide(written, "r1").decisions[0].kind == "proposal"


def test_a_rejected_policy_is_not_proposed_on_the_next_version(written: WrittenStore, tmp_path: Path) -> None:
    written.observe(QUERY, "r1")
    verdict = written.judge(standing(written), FEWER, "reject", "r1")
    commit(tmp_path)
    written.observe(QUERY, "r2", table_bytes=11 * MIB)
    found = decide(written, "r2")
    assert (found.settled, found.outcome) == (True, "no_change")
    assert found.reason == f"rejected before: the reason for reject ({verdict})"


def test_it_is_proposed_again_when_the_table_has_doubled(written: WrittenStore, tmp_path: Path) -> None:
    written.observe(QUERY, "r1")
    written.judge(standing(written), FEWER, "reject", "r1")
    commit(tmp_path)
    written.observe(QUERY, "r2", table_bytes=21 * MIB)
    assert decide(written, "r2").decisions[0].kind == "proposal"


@pytest.mark.parametrize(("mib", "kind"), [(13, "proposal"), (12, "no_change")])
def test_it_is_proposed_again_a_month_later_on_a_table_that_has_grown_by_a_quarter(
    written: WrittenStore, tmp_path: Path, mib: int, kind: str
) -> None:
    written.observe(QUERY, "r1")
    written.judge(standing(written), FEWER, "reject", "r1")
    commit(tmp_path)
    written.observe(QUERY, "r2", days=31, table_bytes=mib * MIB)
    assert decide(written, "r2").decisions[0].kind == kind


def test_it_is_proposed_again_under_another_judge_catalogue_or_rule(
    written: WrittenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from planopt_assets.loop import versions as module

    written.observe(QUERY, "r1")
    written.judge(standing(written), FEWER, "reject", "r1", context_hash="ctx_of_an_older_judge")
    commit(tmp_path)
    written.observe(QUERY, "r2")
    assert decide(written, "r2").decisions[0].kind == "proposal"
    before = standing(written).context_hash
    monkeypatch.setattr(module, "JUDGE_VERSION", "judge@99")
    module.contract.cache_clear()
    written.observe(QUERY, "r3")
    assert standing(written).context_hash not in (before, None)
    module.contract.cache_clear()


def test_an_accepted_policy_is_carried_over_and_the_standing_shows_it(written: WrittenStore, tmp_path: Path) -> None:
    written.observe(QUERY, "r1")
    verdict = written.judge(standing(written), FEWER, "accept", "r1")
    assert not standing_facts(standing(written))["carried_over"]
    commit(tmp_path)
    written.observe(QUERY, "r2")
    found = decide(written, "r2")
    assert (found.settled, found.outcome, found.verdicts) == (True, "accept", [])
    assert (standing_facts(found)["verdict_id"], standing_facts(found)["carried_over"]) == (verdict, True)
    assert found.to_promote is not None


def test_after_a_new_layout_a_policy_stays_in_force_and_is_validated_again(
    written: WrittenStore, tmp_path: Path
) -> None:
    """The rows are the same and so is their size, but the files are others: old verdicts say nothing about them."""
    commit(tmp_path)
    promoted(written)
    sales = DeltaTable(str(tmp_path / "sales"))
    sales.optimize.compact()
    action = {"action_id": "mnt-1", "table": "sales", "table_id": "x", "action": "compact", "status": "applied"}
    written.append("maintenance_actions", {**action, "reason": "", "version_after": sales.version()}, run_id="r1")
    now = sales.version()
    assert standing(written).changes == (f"sales v{now - 1} -> v{now}, a new layout of the same rows",)
    written.observe(QUERY, "r2")
    found = decide(written, "r2")
    assert found.decisions[0].kind == "proposal"
    assert (found.settled, found.carried) == (False, [])
    assert found.active is not None
    assert found.active.policy == FEWER


# What was taken back


def promoted(written: WrittenStore) -> Chain:
    """Accepted and promoted in r1."""
    written.observe(QUERY, "r1")
    found = standing(written)
    verdict_id = written.judge(found, FEWER, "accept", "r1")
    (verdict,) = snapshot(written).read(VERDICTS)
    event = Accept(verdict_id, verdict.candidate_id, found.input_fingerprint, (verdict,))
    chain = (next_generation("demo", "q", (), event),)
    written.promote(chain, "r1")
    return chain


def taken_back(written: WrittenStore, tmp_path: Path, event: Event) -> Standing:
    """Promoted, ended by the event, then observed on a new version and decided on in r2."""
    chain = promoted(written)
    written.promote((*chain, next_generation("demo", "q", chain, event)), "r1")
    commit(tmp_path)
    written.observe(QUERY, "r2")
    return decide(written, "r2")


def test_a_policy_that_watch_reverted_is_neither_carried_over_nor_tried(written: WrittenStore, tmp_path: Path) -> None:
    found = taken_back(written, tmp_path, Revert("last_good", "it got worse"))
    assert found.decisions[0].reason == "accepted before, and taken back: it got worse (pro-q-g2)"
    assert (found.proposed, found.carried, found.to_promote) == ([], [], None)


def test_a_policy_that_expired_is_proposed_again(written: WrittenStore, tmp_path: Path) -> None:
    found = taken_back(written, tmp_path, Expire("the layout of sales changed"))
    assert found.decisions[0].kind == "proposal"


def test_a_policy_that_a_person_rolled_back_stays_proven_and_waits_for_a_person(
    written: WrittenStore, tmp_path: Path
) -> None:
    found = taken_back(written, tmp_path, Revert("last_good", "I do not like it", who="ada"))
    assert found.decisions[0].reason.startswith("accepted before on similar inputs")
    assert found.to_promote is None
    assert found.promotable(by_hand=True) is not None


def test_what_is_taken_back_later_does_not_change_what_was_decided(written: WrittenStore, tmp_path: Path) -> None:
    chain = promoted(written)
    commit(tmp_path)
    written.observe(QUERY, "r2")
    before = decide(written, "r2").decisions
    written.promote((*chain, next_generation("demo", "q", chain, Revert("last_good", "it got worse"))), "r3")
    (again,) = decisions_for(written.workload, snapshot(written), standing(written))
    assert (again.id, again.reason) == (before[0].id, before[0].reason)


@pytest.mark.parametrize(
    ("engine", "metadata"),
    [("java 21", "PARTITIONED BY (`d`)"), ("java 17", "PARTITIONED BY (`e`)")],
    ids=["another engine", "another layout"],
)
def test_what_makes_a_policy_expire_is_another_context(written: WrittenStore, engine: str, metadata: str) -> None:
    def context(run_id: str, engine: str, metadata: str) -> str | None:
        written.observe(QUERY, run_id, engine=engine, metadata=metadata)
        return standing(written).context_hash

    proven = context("r1", "java 17", "PARTITIONED BY (`d`)")
    assert proven is not None
    assert context("r2", "java 17", "PARTITIONED BY (`d`)") == proven
    assert context("r3", engine, metadata) != proven


# Decide on stored rows


def test_decide_on_stored_rows_gives_the_same_bytes_whatever_came_later(written: WrittenStore, tmp_path: Path) -> None:
    written.observe(QUERY, "r1")
    written.judge(standing(written), FEWER, "reject", "r1")
    commit(tmp_path)
    written.observe(QUERY, "r2")
    found = decide(written, "r2")
    written.judge(found, FEWER, "accept", "r3")
    again = [DECISIONS.to_row(d) for d in decisions_for(written.workload, snapshot(written), standing(written))]
    rows = StoredRows(written.workload.store, "demo").rows("policy_decisions")
    assert again == [{name: row[name] for name in again[0]} for row in rows]
    assert again[0]["reason"].startswith("rejected before")


# What a run would do


def test_the_agenda_foresees_what_decide_would_say(written: WrittenStore) -> None:
    written.observe(QUERY, "r1")
    (item,) = agenda_of(written.workload, snapshot(written), {"q": standing(written)}, ["q"]).items
    assert {s.stage: s.need for s in item.steps} == {
        "observe": "done",
        "decide": "needed",
        "replan": "needed",
        "validate": "depends",
        "promote": "depends",
    }
    assert item.promise.gain_ns_per_run > 0
