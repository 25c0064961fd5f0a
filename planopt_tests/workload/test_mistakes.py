"""Each mistake: its code, its line and column, and what the user is told to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planopt_assets.errors import WorkloadError
from planopt_tests.workload.conftest import RIGHT

pytestmark = pytest.mark.fast

MistakesIn = Callable[[str | bytes], tuple[WorkloadError, ...]]


def added(line: str) -> str:
    """The right file with one line more, its 8th."""
    return f"{RIGHT}{line}\n"


def changed(old: str, new: str) -> str:
    assert RIGHT.count(old) == 1, old
    return RIGHT.replace(old, new)


CASES = {
    # the file as text
    "not utf-8": (RIGHT.encode().replace(b"demo", b"d\xe9mo"), "PLN-002", 2, 8, "save it as UTF-8"),
    "utf-16": (RIGHT.encode("utf-16"), "PLN-002", 1, 1, "save it as UTF-8"),
    "nul": (changed("demo", "de\0mo"), "PLN-002", 2, 9, "remove that character"),
    "control character": (changed("demo", "de\x07mo"), "PLN-002", 2, 9, "remove that character"),
    "escaped nul": (added('store: "a\\0b"'), "PLN-002", 8, 8, "remove the escape"),
    "escaped half character": (added('store: "a\\ud800"'), "PLN-002", 8, 8, "remove the escape"),
    "too large": (added("#" * 1024 * 1024), "PLN-003", 0, 0, "smaller files"),
    # on a cluster
    "budget of no executor-seconds": (added("budgets: {executor_seconds_per_run: 0}"), "PLN-008", 8, 37, "above 0"),
    "window without an end": (added("trial_window: {start: 3}"), "PLN-009", 8, 15, "`end: 6`"),
    "window that never opens": (added("trial_window: {start: 3, end: 3}"), "PLN-008", 8, 31, "another hour"),
    "window at no hour": (added("trial_window: {start: 24, end: 3}"), "PLN-008", 8, 23, "at most 23"),
    "queue without YARN": (added("spark: {queue: low}"), "PLN-008", 8, 16, "write `master: yarn`"),
    "queue with a blank": (added("spark: {master: yarn, queue: a b}"), "PLN-008", 8, 30, "letters, digits"),
    "pool said twice": (
        added("spark: {pool: a, settings: {spark.scheduler.pool: b}}"),
        "PLN-008",
        8,
        9,
        "keep one of the two",
    ),
    # automation and alerts
    "hour of no day": (added("automation: {nightly_hour: 24}"), "PLN-008", 8, 28, "at most 23"),
    "unknown time zone": (added("automation: {time_zone: Mars/Base}"), "PLN-008", 8, 25, "a time zone"),
    "unknown weekday": (added("automation: {weekly_day: sundae}"), "PLN-008", 8, 26, "write `sunday`"),
    "unknown destination": (added("alerts: [{kind: slak}]"), "PLN-008", 8, 17, "write `slack`"),
    "webhook without a url": (added("alerts: [{kind: webhook}]"), "PLN-017", 8, 10, "add exactly one"),
    "webhook of two urls": (
        added("alerts: [{kind: webhook, url: 'http://a', url_env: A}]"),
        "PLN-017",
        8,
        43,
        "keep exactly one of `url` or `url_env`",
    ),
    "url of a file": (added("alerts: [{kind: slack, url: 'file:///etc'}]"), "PLN-008", 8, 29, "starts with `https://`"),
    "file without a path": (added("alerts: [{kind: file}]"), "PLN-009", 8, 10, "add `path`"),
    "file elsewhere": (added("alerts: [{kind: file, path: /etc/passwd}]"), "PLN-012", 8, 29, "root"),
    "log with a host": (added("alerts: [{kind: log, host: a.b}]"), "PLN-007", 8, 22, "remove it; log has only `name`"),
    "mail without a sender": (
        added("alerts: [{kind: smtp, host: a.b, to: [a@b.c]}]"),
        "PLN-009",
        8,
        10,
        "add `sender`: smtp needs it",
    ),
    "user without a password": (
        added("alerts: [{kind: smtp, host: a.b, sender: a@b.c, to: [a@b.c], user: me}]"),
        "PLN-009",
        8,
        10,
        "add `password_env`",
    ),
    "password in the file": (
        added("alerts: [{kind: smtp, host: a.b, sender: a@b.c, to: [a@b.c], password: hunter2}]"),
        "PLN-007",
        8,
        62,
        "write `password_env`",
    ),
    "two destinations of one name": (added("alerts: [{kind: log}, {kind: log}]"), "PLN-021", 8, 23, "a `name` of its"),
    # YAML
    "empty": ("# nothing\n", "PLN-009", 1, 1, "start with `version`"),
    "not a mapping": ("- a\n- b\n", "PLN-008", 1, 1, "`field: value`"),
    "tab": (changed("  orders", "\torders"), "PLN-004", 4, 1, "a tab"),
    "open quote": (changed("SELECT 1", "'SELECT 1"), "PLN-004", 8, 1, "a missing quote"),
    "open bracket": (added("roots: [a"), "PLN-004", 9, 1, "correct the YAML"),
    "two documents": (RIGHT + "---\na: 1\n", "PLN-004", 8, 1, "correct the YAML"),
    "unknown alias": (added("store: *there"), "PLN-004", 8, 8, "correct the YAML"),
    "anchor twice": (added("spark: {master: &a yarn, settings: &a {}}"), "PLN-004", 8, 36, "correct the YAML"),
    "escape of no character": (added('store: "\\UFFFFFFFF"'), "PLN-004", 1, 1, "correct the YAML"),
    "duplicate key": (added("name: again"), "PLN-005", 8, 1, "keep one of the two"),
    "duplicate nested key": (added("    id: second"), "PLN-005", 8, 5, "keep one of the two"),
    "python tag": (added("store: !!python/object/apply:os.system [ls]"), "PLN-006", 8, 8, "remove the tag"),
    "standard tag": (changed("version: 1", "version: !!int 1"), "PLN-006", 1, 10, "remove the tag"),
    "local tag": (added("store: !env HOME"), "PLN-006", 8, 8, "remove the tag"),
    "tag on a key": (added("!!str store: x"), "PLN-006", 8, 1, "remove the tag"),
    "tag on everything": ("!x {a: 1}", "PLN-006", 1, 1, "remove the tag"),
    "merge key": (added("<<: {mode: auto}"), "PLN-006", 8, 1, "use an alias"),
    "old yaml": ("%YAML 1.1\n---\n" + RIGHT, "PLN-006", 2, 1, "start with `%`"),
    "tag directive": ("%TAG ! tag:x,2000:\n---\n" + RIGHT, "PLN-006", 2, 1, "start with `%`"),
    "number as key": (added("7: x"), "PLN-008", 8, 1, "quote the key"),
    "empty key": (added("? \n: x"), "PLN-008", 8, 2, "quote the key"),
    "mapping as key": (added("? {a: b}\n: x"), "PLN-008", 8, 3, "quote the key"),
    "not a date": (added("name2: 1995-13-45"), "PLN-008", 8, 8, "quote it"),
    "too deep": (added("store: " + "[" * 5000), "PLN-016", 8, 23, "flatter"),
    "alias inside itself": (added("roots: &r [*r]"), "PLN-016", 8, 8, "flatter"),
    # names of fields
    "unknown field": (added("moed: auto"), "PLN-007", 8, 1, "write `mode`"),
    "unknown field, no neighbour": (added("zzz: 1"), "PLN-007", 8, 1, "the fields here are version, name"),
    "unknown field in a query": (added("    runs_per_dya: 2"), "PLN-007", 8, 5, "write `runs_per_day`"),
    "unknown field in a table": (
        changed("orders: data/orders", "orders: {path: x, catlog: y}"),
        "PLN-007",
        4,
        21,
        "write `catalog`",
    ),
    "unknown field in budgets": (added("budgets: {per_querry: 1}"), "PLN-007", 8, 11, "write `per_query`"),
    "misspelt required field": (changed("queries:", "qeries:"), "PLN-007", 5, 1, "write `queries`"),
    "misspelt source": (changed("    sql:", "    sqll:"), "PLN-007", 7, 5, "write `sql`"),
    "missing name": (changed("name: demo\n", ""), "PLN-009", 1, 1, "for example `name: tpch_demo`"),
    "missing tables": (changed("tables:\n  orders: data/orders\n", ""), "PLN-009", 1, 1, "add it"),
    "missing id": (changed("id: first\n    sql", "sql"), "PLN-009", 6, 5, "for example `id: daily_revenue`"),
    # values
    "version as text": (changed("version: 1", "version: '1'"), "PLN-008", 1, 10, "for example `version: 1`"),
    "version as boolean": (changed("version: 1", "version: true"), "PLN-008", 1, 10, "a version number"),
    "version as fraction": (changed("version: 1", "version: 1.0"), "PLN-008", 1, 10, "a version number"),
    "store as nothing": (added("store:"), "PLN-008", 8, 1, "write text"),
    "version of the future": (changed("version: 1", "version: 2") + "novel: 1\n", "PLN-013", 1, 10, "`version: 1`"),
    "upper-case name": (changed("demo", "Demo"), "PLN-008", 2, 7, "lower-case letters"),
    "long name": (changed("demo", "d" * 64), "PLN-008", 2, 7, "at most 63"),
    "bad id": (changed("id: first", "id: 1st"), "PLN-008", 6, 9, "starts with a letter"),
    "id as number": (changed("id: first", "id: 1"), "PLN-008", 6, 9, "write text"),
    "bad table name": (changed("  orders", "  my-orders"), "PLN-008", 4, 3, "an identifier"),
    "table as number": (changed("data/orders", "7"), "PLN-008", 4, 11, "a path, or a mapping"),
    "table as nothing": (changed("data/orders", ""), "PLN-008", 4, 3, "a path, or a mapping"),
    "blank path": (changed("data/orders", "''"), "PLN-008", 4, 11, "not blank"),
    "catalog as path": (changed("data/orders", '{catalog: "delta.`/etc`"}'), "PLN-008", 4, 21, "name of the catalog"),
    "no tables": (changed("\n  orders: data/orders", " {}"), "PLN-008", 3, 9, "at least one entry"),
    "no queries": (changed("\n  - id: first\n    sql: SELECT 1", " []"), "PLN-008", 5, 10, "at least one entry"),
    "queries as mapping": (changed("  - id: first\n    sql", "  first"), "PLN-008", 6, 3, "write a list"),
    "query as text": (changed("- id: first\n    sql: SELECT 1", "- SELECT 1"), "PLN-008", 6, 5, "write a mapping"),
    "blank sql": (changed("SELECT 1", "' '"), "PLN-008", 7, 10, "not blank"),
    "empty sql": (changed("SELECT 1", ""), "PLN-008", 7, 5, "not blank"),
    "wrong choice": (added("mode: advice"), "PLN-008", 8, 7, "write `advise`"),
    "wrong choice, no neighbour": (added("objective: money"), "PLN-008", 8, 12, "one of cpu, latency, bytes"),
    "wrong capture": (added("capture: debugg"), "PLN-008", 8, 10, "write `debug`"),
    "choice as list": (added("mode: [auto]"), "PLN-008", 8, 7, "one of observe"),
    "negative budget": (added("budgets: {per_run: -1}"), "PLN-008", 8, 20, "a number above 0"),
    "zero budget": (added("budgets: {per_run: 0}"), "PLN-008", 8, 20, "a number above 0"),
    "nan budget": (added("budgets: {per_run: .nan}"), "PLN-008", 8, 20, "a finite number"),
    "infinite budget": (added("budgets: {per_run: .inf}"), "PLN-008", 8, 20, "a finite number"),
    "budget beyond floats": (added("budgets: {per_run: 1" + "0" * 400 + "}"), "PLN-008", 8, 20, "a finite number"),
    "number of too many digits": (added("seed: " + "9" * 5000), "PLN-008", 8, 7, "quote it"),
    "boolean budget": (added("budgets: {per_run: true}"), "PLN-008", 8, 20, "`per_run: 1800`"),
    "text budget": (added("budgets: {per_run: '60'}"), "PLN-008", 8, 20, "write a finite number"),
    "empty budgets": (added("budgets:"), "PLN-008", 8, 1, "write a mapping"),
    "runs per day": (added("    runs_per_day: 0"), "PLN-008", 8, 19, "a number above 0"),
    "runs per day as nan": (added("    runs_per_day: .NaN"), "PLN-008", 8, 19, "a finite number"),
    "runs per day as boolean": (added("    runs_per_day: true"), "PLN-008", 8, 19, "write a finite number"),
    "seed as fraction": (added("seed: 1.5"), "PLN-008", 8, 7, "a whole number"),
    "negative seed": (added("seed: -1"), "PLN-008", 8, 7, "at least 0"),
    "huge seed": (added("seed: 9223372036854775808"), "PLN-008", 8, 7, "at most 9223372036854775807"),
    "seed as boolean": (added("seed: true"), "PLN-008", 8, 7, "a whole number"),
    "allow_python as text": (added("allow_python: yes"), "PLN-008", 8, 15, "write true or false"),
    "unknown master": (added("spark: {master: 'locl[*]'}"), "PLN-008", 8, 17, "for example `master: local[4]`"),
    "setting of no Spark": (added("spark: {settings: {sql.x: 1}}"), "PLN-008", 8, 20, "starts with `spark.`"),
    "setting as list": (added("spark: {settings: {spark.x: [1]}}"), "PLN-008", 8, 29, "text, a finite number"),
    "setting as nothing": (added("spark: {settings: {spark.x: }}"), "PLN-008", 8, 20, "text, a finite number"),
    "setting as nan": (added("spark: {settings: {spark.x: .nan}}"), "PLN-008", 8, 29, "text, a finite number"),
    "knob of no Spark": (added("knobs: {deny: [shuffle]}"), "PLN-008", 8, 16, "starts with `spark.`"),
    "pin as mapping": (added("knobs: {pin: {spark.x: {}}}"), "PLN-008", 8, 24, "text, a finite number"),
    "allow as text": (added("knobs: {allow: spark.x}"), "PLN-008", 8, 16, "write a list"),
    "roots as text": (added("roots: ../x"), "PLN-008", 8, 8, "write a list"),
    "callable without a colon": (
        changed("sql: SELECT 1", "python: a.b") + "allow_python: true\n",
        "PLN-008",
        7,
        13,
        "`module:function`",
    ),
    "no bindings": (added("    parameters: []"), "PLN-008", 8, 17, "at least one entry"),
    "bindings as mapping": (added("    parameters: {a: 1}"), "PLN-008", 8, 17, "write a list"),
    "parameter as list": (added("    parameters: [{a: [1]}]"), "PLN-008", 8, 22, "one value"),
    "parameter as nan": (added("    parameters: [{a: .nan}]"), "PLN-008", 8, 22, "a finite number"),
    "parameter beyond 64 bits": (added("    parameters: [{a: 9223372036854775808}]"), "PLN-008", 8, 22, "64 bits"),
    "parameter name": (added("    parameters: [{a b: 1}]"), "PLN-008", 8, 19, "an identifier"),
    # fields to each other
    "query id twice": (added("  - {id: first, sql: SELECT 2}"), "PLN-010", 8, 10, "an id of its own"),
    "python": (changed("sql: SELECT 1", "python: a:b"), "PLN-014", 7, 5, "`allow_python: true`"),
    "python, denied": (
        changed("sql: SELECT 1", "python: a:b") + "allow_python: false\n",
        "PLN-014",
        7,
        5,
        "`allow_python: true`",
    ),
    "table twice but for case": (changed("data/orders", "a\n  Orders: b"), "PLN-015", 5, 3, "rename one"),
    "two sources": (
        added("    python: a:b\nallow_python: true"),
        "PLN-017",
        8,
        5,
        "exactly one of `sql`, `sql_file` or `python`",
    ),
    "no source": (changed("\n    sql: SELECT 1", ""), "PLN-017", 6, 5, "exactly one"),
    "two table sources": (changed("data/orders", "{path: a, catalog: b}"), "PLN-017", 4, 21, "`path` or `catalog`"),
    "no table source": (changed("data/orders", "{}"), "PLN-017", 4, 11, "exactly one"),
    "binding without a name": (added("    parameters: [{a: 1}, {}]"), "PLN-018", 8, 26, "the same names"),
    "binding with a typo": (
        added("    parameters: [{since: 1}, {sinec: 1}]"),
        "PLN-018",
        8,
        31,
        "write `since` for `sinec`",
    ),
    "allowed and denied": (
        added("knobs: {allow: [spark.a, spark.b], deny: [spark.b]}"),
        "PLN-019",
        8,
        26,
        "from `allow` or from `deny`",
    ),
    "pinned and denied": (added("knobs: {deny: [spark.a], pin: {spark.a: 1}}"), "PLN-019", 8, 32, "keep `pin`"),
}


@pytest.mark.parametrize(("text", "code", "line", "column", "fix"), CASES.values(), ids=CASES.keys())
def test_one_mistake_is_one_error_with_place_and_fix(
    mistakes_in: MistakesIn, text: str | bytes, code: str, line: int, column: int, fix: str
) -> None:
    (error,) = mistakes_in(text)
    assert (error.code, error.line, error.column) == (code, line, column), str(error)
    assert fix in error.fix
    assert error.where == (f"planopt.yaml:{line}:{column}" if line else "planopt.yaml")
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    "written", ["!hunter2-hunter2", "*hunter2-hunter2", "&hunter2-hunter2 a\nname: &hunter2-hunter2 b"]
)
def test_a_password_that_nobody_quoted_is_not_shown(mistakes_in: MistakesIn, written: str) -> None:
    errors = mistakes_in(added(f"spark: {{settings: {{}}}}\nstore: {written}"))
    assert errors
    assert not any("hunter2" in str(error) for error in errors)
