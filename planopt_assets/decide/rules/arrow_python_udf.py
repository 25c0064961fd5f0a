"""Send rows to a row-wise Python function as Arrow batches instead of pickling them one by one.

Worked: 3,000,000 rows go through a function that returns a date. Pickling costs at least 800 ns a row more than Arrow:
2.4 s.

Spark 4.2 uses Arrow by default; a session can switch it off. Results can differ: if a function returns a value of
another type than it declares, pickling gives NULL and Arrow casts. Tried with Spark 4.2: `double` from 1 is NULL and
1.0, `int` from 1.5 is NULL and 1, `boolean` from 1 is NULL and true, `string` from 1e20 is 1.0E20 and 1e+20. A trial
checks that results are equal, but tomorrow's rows may contain such a value. So the rule looks at the declared type. For
the types in `NEVER_CAST`, Arrow gives the same value or fails. The setting holds for all functions of the query, so one
function of another type is enough to propose nothing.

The proposal has a second setting: Spark 4.2.0 hangs if such a function gets columns straight from a scan (SPARK-58241).
It is set even where it is off already, because the policy is also used in the user's session.
"""

from __future__ import annotations

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.scan_prices import PICKLED_ROW_NS
from planopt_assets.decide.setting_in_force import switched_on
from planopt_assets.model.evidence import Evidence

NAME = "arrow_python_udf"
KNOB = "spark.sql.execution.pythonUDF.arrow.enabled"
COLUMNS = "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled"
NEVER_CAST = frozenset({"binary", "date", "timestamp", "timestamp_ntz"})


def arrow_python_udf(evidence: Evidence) -> Answer:
    """Propose Arrow if every row-wise function declares a type that is never cast."""
    functions = [f for e in evidence.executions for f in e.functions if f.rung == "row_wise"]
    arithmetic: dict[str, int | float | str] = {"row_wise_functions": len(functions)}
    if not functions:
        return no_change("no Python function takes its rows one by one", arithmetic)
    on = switched_on(evidence, KNOB)
    if on is None:
        return cannot_tell(f"{KNOB} was not recorded with the observation", arithmetic)
    if on:
        return no_change("Arrow is on: the functions themselves ask for pickled rows", arithmetic)
    undeclared = sorted({f.name for f in functions if not f.returns})
    if undeclared:
        return cannot_tell(f"the return type of {undeclared[0]} was not recorded with the observation", arithmetic)
    cast = sorted({(f.name, kind) for f in functions for kind in f.returns if kind not in NEVER_CAST})
    if cast:
        name, kind = cast[0]
        return no_change(f"{name} returns {kind}: Arrow could cast a value where pickling gives NULL", arithmetic)
    if unknown := sorted({f.name for f in functions if f.rows is None}):
        return cannot_tell(f"the number of rows is missing for {unknown[0]}", arithmetic)
    rows = sum(f.rows or 0 for f in functions)
    return propose(
        {KNOB: "true", COLUMNS: "false"},
        f"{rows:,} rows are pickled to Python and back one by one: Arrow sends them in batches",
        saved_cpu_ns=rows * PICKLED_ROW_NS,
        arithmetic={**arithmetic, "rows": rows, "cpu_ns_per_row": PICKLED_ROW_NS},
    )
