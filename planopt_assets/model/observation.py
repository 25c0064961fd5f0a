"""What one run saw of one query, and everything that was ever seen of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from planopt_assets.model.bundle import Parts
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.plan import Misjudged
from planopt_assets.model.scan_record import ScanRecord
from planopt_assets.model.signals import Signals
from planopt_assets.model.stamp import NOT_STORED, Stamp
from planopt_assets.model.table_record import TableRecord
from planopt_assets.model.trial import Digest

Status = Literal["captured", "refused", "failed"]

EXECUTORS = "executors"
"""Beside the settings of an observation: how many executors a cluster gave."""


@dataclass(frozen=True, slots=True)
class PlanArtifact:
    """One binding of one observation: who it was, on what, how it ended, and the hashes of its plan.

    None: not recorded, because the query did not get that far or an older planopt did not look at it.
    """

    observation_id: str
    query_id: str
    binding: int
    status: Status
    query_fingerprint: str
    input_fingerprint: str
    tables: tuple[PinnedTable, ...] = ()
    parameters: str | None = None  # JSON
    source: str | None = None  # sql | dataframe
    error_code: str | None = None
    error: str | None = None
    policy_id: str | None = None
    capture_tier: str | None = None  # always_on | debug
    plan_fingerprint: str | None = None
    topology_hash: str | None = None
    final_plan_fingerprint: str | None = None
    final_topology_hash: str | None = None
    extractor: str | None = None
    engine: str | None = None  # versions of Spark, Delta and Java
    snapshot_hash: str | None = None
    planning_env_hash: str | None = None
    rulepack_hash: str | None = None
    contract_hash: str | None = None
    canonical_fingerprint: str | None = None
    canonical_form: str | None = None  # sqlglot | analyzed_plan
    edits: tuple[str, ...] = ()  # what changed in the query since the observation before
    bundle_hash: str | None = None
    bundle_parts: Parts = ()
    unstable_parts: tuple[str, ...] = ()  # parts that came out different when the query was planned again
    statistics_source: str | None = None  # the best one among the operators
    worst_error_factor: float | None = None
    misled_joins: tuple[Misjudged, ...] = ()  # join inputs on the wrong side of the broadcast threshold
    other_scans: tuple[str, ...] = ()  # scans that are not the native one of a registered table
    stamp: Stamp = field(default=NOT_STORED, compare=False)

    @property
    def captured(self) -> bool:
        return self.status == "captured"

    @property
    def java(self) -> str | None:
        """The release of Java it was observed with, such as `17`; None: not recorded."""
        found = re.search(r"\bjava (\d+)", self.engine or "")
        return found[1] if found else None

    @property
    def heads_known(self) -> bool:
        """Whether it says which commit of each table it read. Rows before schema version 6 do not."""
        return any(t.head is not None for t in self.tables)

    @property
    def from_text(self) -> bool:
        """Whether its canonical form was made from the SQL text."""
        return self.canonical_form == "sqlglot"


@dataclass(frozen=True, slots=True)
class PlanDetails:
    """What decide and validate need of one captured binding, and the documents kept for people (JSON texts)."""

    observation_id: str
    settings: tuple[tuple[str, str], ...] = ()  # effective values of the catalogue's knobs, and `cores`
    signals: Signals | None = None
    digest: Digest | None = None  # of the whole result
    effective_rules: tuple[str, ...] | None = None  # of the optimizer; None: not recorded
    canonical_sql: str | None = None
    canonical_reason: str | None = None  # why there is none from the text
    python_version: str | None = None
    udf_rung: str | None = None
    extractors_disagree: tuple[str, ...] | None = None  # None: tier always_on, they were not compared
    plan_hashes: str | None = None
    output_schema: str | None = None
    column_lineage: str | None = None
    udfs: str | None = None
    phases: str | None = None

    @property
    def cores(self) -> int | None:
        """Of the Spark that captured it; None: not recorded."""
        return next((int(value) for name, value in self.settings if name == "cores"), None)

    @property
    def executors(self) -> int | None:
        """Of a cluster; None in local mode, and where they were not recorded."""
        return next((int(value) for name, value in self.settings if name == EXECUTORS), None)


@dataclass(frozen=True, slots=True)
class PlanTrees:
    """The compressed plans of one captured binding; None where one was too large to keep."""

    observation_id: str
    plan: bytes | None = None  # initial and final
    analyzed_plan: bytes | None = None
    optimized_plan: bytes | None = None


@dataclass(frozen=True, slots=True)
class PlanDependence:
    """What in one binding another plan may answer in another way, and nothing else of it."""

    observation_id: str
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedBinding:
    """All that is stored of one binding, in one row."""

    artifact: PlanArtifact
    details: PlanDetails
    trees: PlanTrees


@dataclass(frozen=True, slots=True)
class Observation:
    """What one run saw of one query: one artifact for each binding, and their scans and tables."""

    query_id: str
    run_id: str
    artifacts: tuple[PlanArtifact, ...]
    scans: tuple[ScanRecord, ...] = ()
    tables: tuple[TableRecord, ...] = ()

    @property
    def captured(self) -> bool:
        return all(a.captured for a in self.artifacts)

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(a.observation_id for a in self.artifacts)

    @property
    def topologies(self) -> tuple[str | None, ...]:
        return tuple(a.topology_hash for a in self.artifacts)

    @property
    def final_topologies(self) -> tuple[str | None, ...]:
        return tuple(a.final_topology_hash for a in self.artifacts)


@dataclass(frozen=True, slots=True)
class ObservationHistory:
    """All observations of a query, oldest first, and the ones a person accepted although their plan had changed."""

    observations: tuple[Observation, ...]
    accepted: frozenset[str] = frozenset()  # observation ids
    plan_of: Callable[[str], bytes | None] = field(default=lambda _: None, compare=False)  # by observation id

    @property
    def last(self) -> Observation | None:
        return self.observations[-1] if self.observations else None


@dataclass(frozen=True, slots=True)
class AcceptedTopology:
    """A person took the plan of an observation as the new normal."""

    query_id: str
    observation_id: str
    topology_hashes: tuple[str, ...]  # one per binding
    reason: str
