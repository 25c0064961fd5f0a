"""Files and bytes per scan, as planopt records them, equal what the Delta log alone says must be read."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import combinations

import pyarrow.compute as pc
import pytest

from planopt_tests.oracle.cases import CASES, Case, day, id_, january, signed
from planopt_tests.oracle.comparison import NEVER_RUN, expected_scan, mismatches
from planopt_tests.oracle.lab import Lab
from planopt_tests.oracle.log_reader import read_log
from planopt_tests.oracle.skipping import ANYTHING, Predicate

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_scan_reads_the_files_that_the_log_cannot_rule_out(lab: Lab, case: Case) -> None:
    files = lab.pinned[case.table]
    if case.delta is not None:
        ruled_in, taken = case.ranges.may_hold(files), case.delta.predicate.may_hold(files)
        more, less = (taken, ruled_in) if case.delta.direction == "weaker" else (ruled_in, taken)
        assert pc.all(pc.or_(more, pc.invert(less))).as_py(), "the case says the wrong direction"
        assert not more.equals(less), "the case explains a difference that is none"
    assert mismatches(lab.run(case.sql), [lab.expect(case.table, case.read)]) == []


def test_two_scans_of_one_table_are_told_apart(lab: Lab) -> None:
    sql = "SELECT id FROM by_day WHERE id < 120 UNION ALL SELECT id FROM by_day WHERE day = '2024-01-03'"
    assert mismatches(lab.run(sql), [lab.expect("by_day", id_ < 120), lab.expect("by_day", day == january(3))]) == []


def test_a_predicate_on_one_side_of_a_join_is_one_on_the_other_too(lab: Lab) -> None:
    """Spark infers it from the join's condition: more is skipped than the query itself says."""
    done = lab.run("SELECT a.id FROM events a JOIN events b ON a.id = b.signed WHERE a.id < 120 AND b.signed > 40")
    inferred = [lab.expect("events", (col < 120) & (col > 40)) for col in (id_, signed)]
    assert mismatches(done, inferred) == []
    assert mismatches(done, [lab.expect("events", id_ < 120), lab.expect("events", signed > 40)]) != []


def test_a_scan_that_is_used_twice_is_planned_twice_and_read_once(lab: Lab) -> None:
    """Both sides of the join need the same shuffle: Spark runs it once and reuses it."""
    done = lab.run(
        "WITH t AS (SELECT twice % 7 AS k, count(*) AS n FROM growing WHERE id < 100 GROUP BY 1)"
        " SELECT a.k FROM t a JOIN t b ON a.k = b.k + 1"
    )
    scan = lab.expect("growing", id_ < 100)
    assert mismatches(done, [scan, replace(scan, read=NEVER_RUN)]) == []


@pytest.mark.parametrize(
    ("sql", "fact"),
    [
        ("SELECT f.id FROM by_day f JOIN days d ON f.day = d.day WHERE d.kind LIKE '%n%'", ANYTHING),
        ("SELECT f.id FROM by_day f JOIN days d ON f.day = d.day WHERE d.kind LIKE '%n%' AND f.id < 240", id_ < 240),
    ],
)
def test_dynamic_pruning_leaves_the_days_that_the_dimension_has(lab: Lab, sql: str, fact: Predicate) -> None:
    wanted = days_with_an_n(lab)
    scans = [lab.expect("by_day", fact, at_run_time=day.one_of(*wanted)), lab.expect("days", ANYTHING)]
    assert mismatches(lab.run(sql), scans) == []
    assert scans[0].read < scans[0].scanned


def test_a_commit_after_the_pin_is_not_read(lab: Lab) -> None:
    done = lab.run("SELECT id FROM growing")
    newest = read_log(lab.data / "growing")
    assert (len(lab.pinned["growing"]), len(newest)) == (8, 9)
    assert mismatches(done, [lab.expect("growing", ANYTHING)]) == []
    assert mismatches(done, [expected_scan("growing", newest, ANYTHING)]) != []


def test_a_limit_reads_only_as_many_files_as_hold_enough_rows(lab: Lab) -> None:
    """Stronger than any range: without a predicate Delta takes files until their rows suffice, in no given order."""
    counters = lab.run("SELECT id FROM growing LIMIT 60").counters
    sizes = lab.pinned["growing"].sizes.to_pylist()
    assert counters.scan_files == 2
    assert counters.scan_bytes in {a + b for a, b in combinations(sizes, 2)}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT max(id) FROM growing",  # the log's ranges are the answer
        "SELECT count(*) FROM growing",  # so are its numbers of rows
        "SELECT id FROM events WHERE signed = 5000000000",  # no integer is that large: Spark needs no statistics
    ],
)
def test_a_query_that_needs_no_file_records_none(lab: Lab, sql: str) -> None:
    assert mismatches(lab.run(sql), []) == []


def test_a_side_that_adaptive_execution_drops_reads_nothing(lab: Lab) -> None:
    """The join ends once a side is known to be empty: which of the two scans is still run is a race."""
    done = lab.run("SELECT g.id FROM growing g JOIN by_bucket b ON g.id = b.id WHERE b.id > 1000")
    assert (done.counters.scan_files, done.counters.scan_bytes) == (0, 0)
    assert {(s.table, s.funnel.scanned.files) for s in done.scans} == {("growing", 0), ("by_bucket", 0)}


def test_the_answer_of_a_sub_query_comes_too_late_to_skip_files(lab: Lab) -> None:
    """Weaker than ranges: Delta chooses files while planning, when the value is not known yet."""
    done = lab.run("SELECT id FROM growing WHERE id > (SELECT max(id) FROM by_bucket WHERE id < 100)")
    assert mismatches(done, [lab.expect("growing", ANYTHING), lab.expect("by_bucket", id_ < 100)]) == []


def test_the_answer_of_a_sub_query_still_prunes_partitions(lab: Lab) -> None:
    done = lab.run("SELECT id FROM by_day WHERE day = (SELECT max(day) FROM days WHERE kind LIKE '%n%')")
    wanted = max(days_with_an_n(lab))
    scans = [lab.expect("by_day", ANYTHING, at_run_time=day == wanted), lab.expect("days", ANYTHING)]
    assert mismatches(done, scans) == []


def days_with_an_n(lab: Lab) -> list[dt.date]:
    """What the dimension's filter leaves, out of its rows."""
    days = lab.rows("days")
    return list(days.filter(pc.match_substring(days["kind"], "n"))["day"].to_pylist())
