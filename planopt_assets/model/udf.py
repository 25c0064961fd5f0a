"""User-defined functions of a query, and how far each of them is from what Spark can optimise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Rung = Literal["builtin", "jvm", "vectorised", "arrow_optimised", "row_wise"]

LADDER: tuple[Rung, ...] = ("builtin", "jvm", "vectorised", "arrow_optimised", "row_wise")
"""From the best rung down.

- `builtin`: Spark's own expressions; the optimizer sees through them.
- `jvm`: Scala, Java and Hive functions; a black box, but no data leaves the JVM.
- `vectorised`: pandas and Arrow functions; Python sees whole columns.
- `arrow_optimised`: a row-wise Python function whose rows travel as Arrow batches.
- `row_wise`: a row-wise Python function whose rows are pickled one by one.
"""


@dataclass(frozen=True, slots=True)
class Udf:
    """One user-defined function as a query calls it, `uses` times with these arguments."""

    name: str
    kind: Literal["python", "pandas", "arrow", "scala", "hive"]
    evaluation: str
    deterministic: bool | None  # None where the plan does not say
    returns: str
    arguments: tuple[str, ...]
    rung: Rung
    uses: int = 1
    source: str = ""  # `module:callable` whose frame holds it, or `session` where it was registered


@dataclass(frozen=True, slots=True)
class UdfAudit:
    """All user-defined functions of a query; `worst` is the lowest rung any of them stands on."""

    functions: tuple[Udf, ...]

    @property
    def worst(self) -> Rung:
        return max((udf.rung for udf in self.functions), key=LADDER.index, default="builtin")

    @property
    def in_python(self) -> bool:
        return any(udf.kind in ("python", "pandas", "arrow") for udf in self.functions)

    def to_json(self) -> dict[str, Any]:
        fields = Udf.__dataclass_fields__
        functions = [{name: getattr(udf, name) for name in fields} for udf in self.functions]
        return {"worst": self.worst, "functions": [{**f, "arguments": list(f["arguments"])} for f in functions]}
