"""Every gate over observations, both ways: what must pass passes, what must fail fails, and says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from planopt_assets.loop.gates import CHECKS
from planopt_assets.model.gate import Gate
from planopt_assets.model.observation import ObservationHistory
from planopt_assets.observe.gates import (
    MISLED,
    contract_kept,
    deterministic,
    estimates_sane,
    native_scan,
    plan_topology_stable,
    protocol_compatible,
    pushdown_effective,
)
from planopt_tests.observe.seen import Seen, history, seen, seen_in, unsuccessful
from planopt_tests.rows import Row, captured_row, older_row, scan_row, table_row, unsuccessful_row

pytestmark = pytest.mark.fast

GATES = [check.of_history for check in CHECKS.values() if check.of_history]
OF_CAPTURED = [plan_topology_stable, pushdown_effective, native_scan, deterministic, estimates_sane]
OF_BUNDLE = OF_CAPTURED[1:]


# Queries that there is nothing to say about


@pytest.mark.parametrize("gate", GATES, ids=lambda g: g.__name__)
def test_a_query_that_was_never_observed_does_not_pass(gate: Callable[[ObservationHistory], Gate]) -> None:
    assert gate(history()) == Gate(False, False, "not observed: the query never ran", observed=False)


@pytest.mark.parametrize("gate", GATES, ids=lambda g: g.__name__)
def test_a_query_that_failed_was_not_observed_and_does_not_pass(gate: Callable[[ObservationHistory], Gate]) -> None:
    found = gate(history(seen("r1", scans=(scan_row(finding="x"),)), unsuccessful("r2", "failed", "PLN-207")))
    assert found == Gate(False, False, "not observed: the query failed (PLN-207)", observed=False)


@pytest.mark.parametrize("gate", GATES, ids=lambda g: g.__name__)
def test_a_query_that_was_refused_has_its_answer_and_passes(gate: Callable[[ObservationHistory], Gate]) -> None:
    found = gate(history(seen("r1", scans=(scan_row(finding="x"),)), unsuccessful("r2", "refused", "PLN-101")))
    assert found == Gate(True, False, "nothing to look at: the query was refused (PLN-101)")


def test_one_binding_that_did_not_run_is_the_one_to_name() -> None:
    both = seen_in(captured_row("r1", 0), unsuccessful_row("r1", "failed", "PLN-208"))
    assert native_scan(history(both)).words == "not observed: the query failed (PLN-208)"


def test_the_tables_of_a_query_that_failed_are_compared_where_they_are_known() -> None:
    failed = unsuccessful("r2", "failed", "PLN-207", tables=(table_row(),))
    assert contract_kept(history(seen("r1", tables=(table_row(),)), failed)).words == "1 table(s) unchanged"


@pytest.mark.parametrize("gate", OF_BUNDLE, ids=lambda g: g.__name__)
def test_what_an_older_planopt_did_not_record_is_not_judged(gate: Callable[[ObservationHistory], Gate]) -> None:
    found = gate(history(seen_in(older_row("r1"))))
    words = "not observed: an older planopt observed it and did not record this"
    assert found == Gate(False, False, words, observed=False)


@pytest.mark.parametrize("gate", GATES, ids=lambda g: g.__name__)
def test_a_query_that_is_as_it_was_passes_every_gate(gate: Callable[[ObservationHistory], Gate]) -> None:
    same = [seen(run, scans=(scan_row(),), tables=(table_row(),)) for run in ("r1", "r2")]
    found = gate(history(seen_in(older_row("r0")), *same))
    assert (found.passed, found.severe) == (True, False)


@pytest.mark.parametrize("gate", GATES, ids=lambda g: g.__name__)
def test_every_gate_says_what_it_asks(gate: Callable[[ObservationHistory], Gate]) -> None:
    assert str(gate.__doc__).splitlines()[0].endswith("?")


# pushdown_effective


def test_scans_without_findings_pass_and_are_listed() -> None:
    scans = (scan_row(), scan_row("nation", outcome="no_predicate", reason="a | b", pruned_share=None))
    assert pushdown_effective(history(seen(scans=scans))) == Gate(
        True,
        False,
        "2 scan(s), nothing avoidable was read",
        "| table | outcome | why |\n|---|---|---|\n"
        "| orders | full_pushdown | all predicates were pushed |\n| nation | no_predicate | a \\| b |",
        {"scans": 2.0, "findings": 0.0, "least_pruned_share": 0.5},
    )


def test_a_finding_is_something_to_look_at_and_no_regression() -> None:
    missed = scan_row("nation", outcome="pushdown_missed", finding="a cast on id: compare it uncast", pruned_share=0.1)
    found = pushdown_effective(history(seen(scans=(scan_row(), missed))))
    assert (found.passed, found.severe) == (False, False)
    assert found.words == "nation: a cast on id: compare it uncast"
    assert found.numbers == {"scans": 2.0, "findings": 1.0, "least_pruned_share": 0.1}


def test_only_the_newest_observation_counts() -> None:
    missed = seen("r1", scans=(scan_row(finding="a cast"),))
    assert pushdown_effective(history(missed, seen("r2", scans=(scan_row(),)))).passed


def test_a_query_without_scans_passes() -> None:
    found = pushdown_effective(history(seen()))
    assert found == Gate(True, False, "0 scan(s), nothing avoidable was read", "", {"scans": 0.0, "findings": 0.0})


# native_scan


def test_native_scans_at_the_pinned_version_pass() -> None:
    found = native_scan(history(seen(scans=(scan_row(), scan_row()))))
    assert found == Gate(True, False, "2 scan(s), all native and at the pinned version")


WRONG_SCANS: dict[str, tuple[Row, str]] = {
    "another version": ({"scans": (scan_row(table_version=11),)}, "orders was read at version 11, pinned is 12"),
    "a table that is not pinned": ({"scans": (scan_row("x"),)}, "x was read at version 12, pinned is None"),
    "row by row": (
        {"scans": (scan_row(native=False, file_index="TahoeLogFileIndex"),)},
        "orders was read row by row (TahoeLogFileIndex)",
    ),
    "another kind of scan": ({"other_scans": ["BatchScan csv"]}, "BatchScan csv is not a native scan"),
    "all of it, each once": (
        {"scans": (scan_row(table_version=11, native=False),) * 2, "other_scans": ["BatchScan csv"]},
        "orders was read at version 11, pinned is 12; orders was read row by row (PreparedDeltaFileIndex); "
        "BatchScan csv is not a native scan",
    ),
}


@pytest.mark.parametrize(("found", "words"), WRONG_SCANS.values(), ids=WRONG_SCANS)
def test_a_scan_that_is_not_the_native_one_is_a_regression(found: Row, words: str) -> None:
    assert native_scan(history(seen(**found))) == Gate(False, True, words)


def test_a_wrong_scan_in_any_binding_counts() -> None:
    both = seen_in(captured_row("r1", 0), captured_row("r1", 1, other_scans=["BatchScan csv"]))
    assert not native_scan(history(both)).passed


# deterministic


def test_a_bundle_that_came_out_the_same_passes() -> None:
    found = deterministic(history(seen()))
    assert found == Gate(
        True, False, "plans, scans and settings are the same each time they are made on the same inputs (bun_1)"
    )
    assert deterministic(history(seen("r1"), seen("r2"))) == found


def test_parts_that_were_not_the_same_when_planned_again_are_a_regression() -> None:
    both = seen_in(
        captured_row("r1", 0, unstable_parts=["topology", "plan"]), captured_row("r1", 1, unstable_parts=["plan"])
    )
    assert deterministic(history(both)) == Gate(False, True, "planned twice, and not the same: plan, topology")


OTHER_BUNDLE = {"bundle_hash": "bun_2", "bundle_parts": '{"plan": "pln_2", "topology": "top_1", "udfs": "udf_1"}'}


def test_another_bundle_on_the_same_inputs_is_a_regression() -> None:
    found = deterministic(history(seen("r1"), seen("r2", **OTHER_BUNDLE)))
    assert found == Gate(False, True, "not what the same inputs gave before: plan, udfs")


def test_observations_in_between_on_other_inputs_do_not_hide_it() -> None:
    between = (seen("r2", input_fingerprint="inp_2"), unsuccessful("r3"), seen_in(older_row("r4")))
    assert not deterministic(history(seen("r1"), *between, seen("r5", **OTHER_BUNDLE))).passed


@pytest.mark.parametrize(
    "other", [{"input_fingerprint": "inp_2"}, {"planning_env_hash": "env_2"}, {"rulepack_hash": "rul_2"}]
)
def test_another_bundle_on_other_inputs_settings_or_rules_passes(other: Row) -> None:
    assert deterministic(history(seen("r1"), seen("r2", **OTHER_BUNDLE, **other))).passed


def test_it_is_the_last_observation_of_the_same_inputs_that_counts() -> None:
    assert deterministic(history(seen("r1"), seen("r2", **OTHER_BUNDLE), seen("r3", **OTHER_BUNDLE))).passed


def test_an_older_row_has_no_bundle_to_compare_with() -> None:
    assert deterministic(history(seen_in(older_row("r1")), seen("r2"))).passed


def test_another_number_of_bindings_is_nothing_to_compare_with() -> None:
    two = seen_in(captured_row("r2", 0, **OTHER_BUNDLE), captured_row("r2", 1, **OTHER_BUNDLE))
    assert deterministic(history(seen("r1"), two)).passed


# protocol_compatible


def test_tables_that_the_engine_can_read_pass() -> None:
    found = protocol_compatible(history(seen(tables=(table_row(), table_row("nation"), table_row()))))
    assert found == Gate(True, False, "2 table(s) readable")


@pytest.mark.parametrize("seen_", [seen, lambda **t: unsuccessful("r1", "refused", "PLN-212", **t)])
def test_a_table_with_an_unknown_reader_feature_is_a_regression(seen_: Callable[..., Seen]) -> None:
    tables = (table_row(), table_row("nation", unknown_reader_features=["sparkles", "glitter"]))
    tables += (table_row("region", unknown_reader_features=["sparkles"]),)
    words = "nation needs sparkles, glitter; region needs sparkles"
    assert protocol_compatible(history(seen_(tables=tables))) == Gate(False, True, words)


def test_a_table_that_can_be_read_but_not_maintained_passes_with_words() -> None:
    tables = [table_row(name, unknown_writer_features=["sparkles", "glitter"]) for name in ("orders", "nation")]
    found = protocol_compatible(history(seen(tables=tuple(tables))))
    words = "2 table(s) readable; no maintenance for orders (sparkles, glitter); nation (sparkles, glitter)"
    assert found == Gate(True, False, words)


def test_a_table_that_was_repaired_since_passes() -> None:
    broken = unsuccessful("r1", "refused", "PLN-212", tables=(table_row(unknown_reader_features=["sparkles"]),))
    assert protocol_compatible(history(broken, seen("r2", tables=(table_row(),)))).passed


def test_a_query_refused_for_another_reason_has_nothing_to_do_with_a_table_it_may_not_read() -> None:
    tables = (table_row(unknown_reader_features=["sparkles"]),)
    assert protocol_compatible(history(unsuccessful("r1", "refused", "PLN-101", tables))).passed
    found = protocol_compatible(history(unsuccessful("r1", "refused", "PLN-212", tables)))
    assert found == Gate(False, True, "orders needs sparkles")


# contract_kept


def with_columns(*columns: tuple[str, str, bool], table: str = "orders") -> Row:
    described = [{"name": n, "type": t, "nullable": nullable} for n, t, nullable in columns]
    whole = {"columns": described, "defaults": {}, "constraints": [], "partitioned_by": []}
    return table_row(table, contract=json.dumps({table: whole}))


def contracts(*tables: Row | tuple[Row, ...]) -> Gate:
    groups = [t if isinstance(t, tuple) else (t,) for t in tables]
    return contract_kept(history(*(seen(f"r{i}", tables=group) for i, group in enumerate(groups))))


def test_tables_that_nobody_looked_at_before_pass() -> None:
    assert contracts(table_row()) == Gate(True, False, "nothing to compare with yet")
    assert contracts(table_row("nation"), table_row()).words == "nothing to compare with yet"
    assert contracts(table_row(), ()).words == "nothing to compare with yet"


def test_a_schema_that_is_what_it_was_passes() -> None:
    found = contracts((table_row(), table_row("nation")), (table_row("nation"), table_row()))
    assert found == Gate(True, False, "2 table(s) unchanged", "", {"drifts": 0.0, "breaking": 0.0})


def test_a_breaking_change_is_a_regression_and_every_change_is_listed() -> None:
    after = with_columns(("id", "string", False), ("more", "long", True))
    assert contracts(table_row(), after) == Gate(
        False,
        True,
        "orders: column id of orders was BIGINT and is STRING",
        "| table | severity | what |\n|---|---|---|\n"
        "| orders | breaking | column id of orders was BIGINT and is STRING |\n"
        "| orders | compatible | orders has a new column more; only `SELECT *` shows it |",
        {"drifts": 2.0, "breaking": 1.0},
    )


def test_a_compatible_change_passes_with_words() -> None:
    found = contracts(table_row(), with_columns(("id", "long", False), ("more", "long", True)))
    assert (found.passed, found.severe, found.numbers) == (True, False, {"drifts": 1.0, "breaking": 0.0})
    assert found.words == "1 compatible change(s): orders has a new column more; only `SELECT *` shows it"


def test_a_breaking_change_is_told_once() -> None:
    after = with_columns(("id", "string", False))
    assert not contracts(table_row(), after).passed
    assert contracts(table_row(), after, after).passed


def test_a_breaking_change_that_a_person_accepted_passes() -> None:
    both = seen("r1", tables=(table_row(),)), seen("r2", tables=(with_columns(("id", "string", False)),))
    assert not contract_kept(history(*both)).passed
    assert not contract_kept(history(*both, accepted=("r1",))).passed
    assert contract_kept(history(*both, accepted=("r2",))) == Gate(True, False, "accepted as it is now")


def test_a_table_is_compared_with_when_it_was_last_looked_at() -> None:
    broken = with_columns(("id", "string", False))
    assert not contracts(table_row(), (), table_row("nation"), broken).passed


def test_a_table_that_the_query_reads_no_more_is_no_change() -> None:
    found = contracts((table_row(), table_row("nation")), table_row())
    assert found.words == "1 table(s) unchanged"


def test_a_change_that_made_the_query_fail_is_found_too() -> None:
    after = unsuccessful("r2", tables=(with_columns(("key", "long", False)),))
    found = contract_kept(history(seen("r1", tables=(table_row(),)), after))
    assert (found.passed, found.severe) == (False, True)
    assert found.words == "orders: column id of orders is gone"


# estimates_sane


def misled(factor: float, estimated: int = 120, actual: int = 120_000) -> dict[str, Any]:
    return {"node": 3, "kind": "Filter", "factor": factor, "by": "bytes", "estimated": estimated, "actual": actual}


def test_estimates_that_misled_no_join_pass() -> None:
    found = estimates_sane(history(seen(worst_error_factor=5_000.0)))
    assert found == Gate(True, False, "no join was planned on a wrong estimate", "", {"worst_error_factor": 5000.0})


def test_a_misled_join_is_something_to_look_at() -> None:
    row = {"misled_joins": json.dumps([misled(10.0, 100, 1_000), misled(1_000.0)]), "worst_error_factor": 1_000.0}
    assert estimates_sane(history(seen(**row))) == Gate(
        False,
        False,
        "a join input was reckoned at 120 bytes and had 120,000: broadcast or not was decided wrongly",
        "| operator | estimated bytes | actual bytes | factor |\n|---|---|---|---|\n"
        "| Filter | 100 | 1,000 | 10 |\n| Filter | 120 | 120,000 | 1,000 |",
        {"worst_error_factor": 1000.0},
    )


def test_a_small_error_across_the_threshold_passes() -> None:
    assert not estimates_sane(history(seen(misled_joins=json.dumps([misled(MISLED)])))).passed
    assert estimates_sane(history(seen(misled_joins=json.dumps([misled(MISLED - 0.1)])))).passed


def test_a_misled_join_in_any_binding_counts_and_the_worst_factor_is_plotted() -> None:
    first = captured_row("r1", 0, worst_error_factor=None)
    second = captured_row("r1", 1, misled_joins=json.dumps([misled(50.0)]), worst_error_factor=50.0)
    found = estimates_sane(history(seen_in(first, second)))
    assert (found.passed, found.numbers) == (False, {"worst_error_factor": 50.0})


def test_without_estimates_there_is_no_number() -> None:
    assert estimates_sane(history(seen(worst_error_factor=None, misled_joins=None))).numbers == {}
