"""The A/A study: a query against itself must never be accepted, and a planted gain should be.

Executions are measured once (`aa_record.py`): each query against itself under another policy id, interleaved. Twenty
experiments per query are then drawn from them (`aa_sample.resampled`) and judged round by round, as
`loop/experiment.py` does. Five studies over the same executions:

  same         as measured: same plan, same counters
  clocks       as measured, but as if the plan were another: only the clocks can tell, and may err once in 400
  work         as measured, but as if the twin did half the work: its clocks did not follow, and may not confirm it
  gain         the twin's clocks are 30 % shorter: the clocks alone have to find it
  gain + work  that, and the twin does half the work: counters show it, the clocks confirm
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.aa_sample import RecordedPair, Sample, dump, load, resampled
from planopt_assets.model.verdict import Judgement
from planopt_assets.validate.judge import judge
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.pairs import Pair

QUERIES, REPETITIONS = 20, 20
_HALVED = ("tasks", "input_rows", "scan_files", "shuffle_blocks", "shuffle_write_rows", "shuffle_write_bytes")


@dataclass(frozen=True, slots=True)
class Study:
    """What is made of the recorded twins before they are judged."""

    name: str
    clocks: float = 1.0
    halved: bool = False
    same_plan: bool = False  # False: as if the plan were another

    def pair(self, recorded: RecordedPair) -> Pair:
        twin = recorded.twin.counters
        changes = {name: round(getattr(twin, name) * self.clocks) for name in ("cpu_ns", "wall_ns")}
        changes |= {name: (getattr(twin, name) or 0) // 2 for name in _HALVED} if self.halved else {}
        same = self.same_plan and recorded.baseline.topology == recorded.twin.topology
        return Pair((recorded.baseline.counters,), (replace(twin, **changes),), same)


STUDIES = (
    Study("same", same_plan=True),
    Study("clocks"),
    Study("work", halved=True),
    Study("gain", clocks=0.7),
    Study("gain + work", clocks=0.7, halved=True),
)


@dataclass(frozen=True, slots=True)
class Tally:
    """What a study came to, over all queries and repetitions."""

    study: str
    experiments: int
    accepted: int
    rejected: int
    inconclusive: int
    judged_better: float  # share whose interval lies below 1
    judged_worse: float  # share whose interval lies above 1
    executions: float  # per experiment on average, the warm-up round and the baseline included


def tallied(study: Study, sample: Sample, *, repetitions: int = REPETITIONS, seed: int = 7) -> Tally:
    verdicts = [v for query in sorted(sample) for v in _verdicts(study, query, sample[query], repetitions, seed)]
    outcomes = [v.outcome for v in verdicts]
    gains = [v.gain for v in verdicts if v.gain]
    return Tally(
        study.name,
        len(verdicts),
        outcomes.count("accept"),
        outcomes.count("reject"),
        outcomes.count("inconclusive"),
        sum(g.high < 1 for g in gains) / len(verdicts),
        sum(g.low > 1 for g in gains) / len(verdicts),
        statistics.fmean(2 * (1 + v.pairs) for v in verdicts),
    )


def _verdicts(
    study: Study, query: str, recorded: Sequence[RecordedPair], repetitions: int, seed: int
) -> Iterator[Judgement]:
    for number in range(repetitions):
        yield _judged(study, resampled(recorded, random.Random(f"{seed}/{query}/{number}")))


def _judged(study: Study, recorded: Iterator[RecordedPair], rules: Rules = Rules()) -> Judgement:  # noqa: B008 - frozen
    pairs: list[Pair] = []
    for pair in recorded:
        pairs.append(study.pair(pair))
        verdict = judge(pairs, objective="cpu", rules=rules, done=len(pairs) >= rules.max_pairs)
        if verdict is not None:
            return verdict
    last = judge(pairs, objective="cpu", rules=rules, done=True)  # fewer were recorded than a trial may take
    assert last is not None
    return last


def noise(sample: Sample) -> float:
    """How far the CPU of a twin is from its baseline, in the median pair of the median query."""
    return statistics.median(
        statistics.median(abs(p.twin.counters.cpu_ns / p.baseline.counters.cpu_ns - 1) for p in pairs)
        for pairs in sample.values()
    )


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 when a query was accepted against itself, as it was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks aa", description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=Path, help="executions recorded before; without it they are measured now")
    parser.add_argument("--pairs", type=int, default=16, help="counted rounds per query")
    parser.add_argument("--seconds", type=float, default=18.0, help="at most, per query")
    parser.add_argument("--scale", type=float, default=0.01, help="TPC-H scale factor")
    parser.add_argument("--folder", type=Path, default=Path(".planopt/bench"), help="where data and the recording go")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    sample = load(options.sample or _recorded(options))
    rows = [tallied(study, sample) for study in STUDIES]
    if options.json:
        print(json.dumps({"queries": len(sample), "noise": noise(sample), "aa": [asdict(r) for r in rows]}, indent=2))
    else:
        print(f"{len(sample)} queries x {REPETITIONS}, pairs differ by {noise(sample):.0%} in CPU (median)")
        print(f"{'study':<14}{'accept':>8}{'reject':>8}{'unclear':>9}{'better':>8}{'worse':>8}{'executions':>12}")
        for r in rows:
            shares = f"{r.judged_better:>8.1%}{r.judged_worse:>8.1%}{r.executions:>12.1f}"
            print(f"{r.study:<14}{r.accepted:>8}{r.rejected:>8}{r.inconclusive:>9}{shares}")
    return 1 if any(r.accepted for r, study in zip(rows, STUDIES, strict=True) if study.same_plan) else 0


def _recorded(options: argparse.Namespace) -> Path:
    from benchmarks.aa_record import record
    from benchmarks.tpc.workload import workload
    from planopt_assets.engine.workspace import Workspace

    workspace = Workspace(workload(options.folder, "tpch", options.scale))
    queries = workspace.workload.queries[:QUERIES]
    file: Path = options.folder / "aa.json"
    dump(record(workspace, queries, pairs=options.pairs, seconds_per_query=options.seconds), file)
    return file
