"""What all observations of a generated store share: settings, rules and versions, in the amount a real session has."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.store_scale.nights import Row, plain
from planopt_assets.decide.catalogue import CATALOGUE
from planopt_assets.model.ids import content_id

_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"
ENGINE = "delta 4.4.0, java 17.0.15, spark 4.2.0"
SETTINGS = plain({"cores": "2", "driver_memory": "3g", **{knob.name: "134217728b" for knob in CATALOGUE}})
RULES_IN_EFFECT = [f"{_OPTIMIZER}.PushDownPredicatesThroughStep{number}" for number in range(16)]


@dataclass(frozen=True, slots=True)
class Shared:
    """One row of `provenance`: stored once, named by hash."""

    kind: str
    hash: str
    content: str

    @property
    def row(self) -> Row:
        return {"query_id": "q0000", "kind": self.kind, "hash": self.hash, "content": self.content}


def _shared(kind: str, content: object) -> Shared:
    return Shared(kind, content_id(kind.rpartition("_")[2][:3], content), plain(content))


ENVIRONMENT = _shared(
    "planning_env",
    {
        "environment": {"cores": "2", "delta": "4.4.0", "java": "17.0.15", "python": "3.11.7", "spark": "4.2.0"},
        "settings": {f"spark.sql.optimizer.someSetting{number}.enabled": "<undefined>" for number in range(160)},
    },
)
RULEPACK = _shared(
    "rulepack",
    [[f"batch {batch}", [f"{_OPTIMIZER}.Rule{batch}Number{number}" for number in range(6)]] for batch in range(60)],
)
