"""One simulated query with the whole loop: combinations, iteration, exploration and parts left out, all together.

The order of a night is that of planopt. What is in force is confirmed. The rules' candidates are tried, three at a time
with their combination. From what was accepted the rules are asked again, and where they have nothing more, one option
after the other is explored from there. Last, parts of a confirmed combination are left out.

Worked: of A, B and C only B gains 30 %. A+B+C is accepted. Its additions D and E are tried beyond A+B+C, then options.
D and the options gain nothing: whoever is accepted of them is a false accept. So is A+C, if it is accepted against
A+B+C on the next night.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.year_life import Life
from benchmarks.year_trial import BASELINE, Tried, Truth, not_needed, race
from planopt_assets.decide.explore.explore import MOST_TRIALS
from planopt_assets.decide.history import recall, recall_alone
from planopt_assets.loop.same_results import unmeasured
from planopt_assets.model.arm import Arm
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import in_force
from planopt_assets.model.verdict import Purpose, Verdict
from planopt_assets.promote.confirmation import confirmation
from planopt_assets.replan.candidates import Proposed, combination, next_singles
from planopt_assets.replan.left_out import left_out
from planopt_assets.validate.error_budget import budget_left
from planopt_assets.validate.judge_rules import Rules

_AQE = "spark.sql.adaptive"
_CANDIDATES = (
    "spark.sql.shuffle.partitions",
    "spark.sql.files.minPartitionNum",
    f"{_AQE}.skewJoin.skewedPartitionFactor",
)
_ADDITIONS = (  # one knob for each round: additions of one round exclude each other, those of several do not
    *("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes", f"{_AQE}.advisoryPartitionSizeInBytes"),
    *(f"{_AQE}.coalescePartitions.minPartitionSize", f"{_AQE}.skewJoin.skewedPartitionThresholdInBytes"),
)
_OPTIONS = (  # one knob for each option that is accepted, likewise
    *("spark.sql.parquet.columnarReaderBatchSize", "spark.sql.execution.arrow.maxRecordsPerBatch"),
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold",
)
_LEAVING_OUT = Rules(worth_gain=0.0)  # as `loop/stages/validate.py` has it


@dataclass(slots=True)
class WholeLoop(Life):
    """`truth` is that of candidates with a gain; nothing else has one. `additions` and `options` are tried per base."""

    gains: int = 0  # candidates with a gain; which ones is drawn
    wrong: list[Verdict] = field(default_factory=list)  # false accepts
    gaining: frozenset[Policy] = frozenset()

    def __post_init__(self) -> None:
        self.gaining = frozenset(self.draw.sample(self._candidates, self.gains))

    @property
    def _candidates(self) -> list[Policy]:
        """On three knobs, so that those of one pass are combined."""
        return [Policy.of({_CANDIDATES[n % 3]: str(n // 3 + 2)}) for n in range(self.candidates)]

    def true(self, policy: Policy) -> Truth:
        """Each part does half the work by its counters; those of a candidate with a gain are what `truth` says."""
        found = BASELINE
        for part in policy.parts:
            found = (self.truth if Policy((part,)) in self.gaining else self.addition).beyond(found)
        return found

    def counts(self, policy: Policy) -> bool:
        """Whether it was ever accepted without being better than what it was tried against."""
        return any(v.policy == policy for v in self.wrong)

    @property
    def accepts(self) -> int:
        return len(self.wrong)

    def _try(self) -> None:
        """Rounds until one accepts nothing that is better than its base, as `loop/rounds.py` has them."""
        carried, tonight, base = self._carried(), list[Verdict](), None
        while True:
            tonight += self._ask_rules(base)
            best = self._base([*tonight, *carried])
            if _same(best, base):
                tonight += self._explore_from(base)
                best = self._base([*tonight, *carried])
                if _same(best, base):
                    break
            base = best
        self._promote([*tonight, *self._leave_out()], carried)

    def _carried(self) -> list[Verdict]:
        """Accepted verdicts of earlier nights that decisions rely on tonight."""
        accepted = {v.policy for v in self.verdicts if v.accepted and not v.confirms}
        memories = [recall(policy, self._history(policy), self._now) for policy in accepted]
        named = {row_id for memory in memories if memory is not None for row_id in memory.evidence_ids}
        return [v for v in self.verdicts if v.id in named and v.accepted]

    def _ask_rules(self, base: Verdict | None) -> list[Verdict]:
        """One pass after the other: three candidates and their combination, or additions to what was accepted."""
        changes = self._candidates if base is None else list(_changes(base.policy, _ADDITIONS, self.additions))
        proposed = [Proposed(wanted.id, wanted, 1) for wanted in self._new(changes, base)]
        found, outcomes = list[Verdict](), dict[str, str]()
        while planned := _planned(proposed, outcomes):
            found += self._race(planned, base)
            outcomes |= {v.policy.id: v.outcome for v in found}
        return found

    def _explore_from(self, base: Verdict | None) -> list[Verdict]:
        """One option after the other, until one is accepted or the error budget is worth no further trial."""
        found: list[Verdict] = []
        for wanted in self._new(_changes(base.policy if base else ORIGINAL, _OPTIONS, self.options), base):
            if budget_left(self.verdicts, "cql").looked >= MOST_TRIALS:
                break
            found += self._race([wanted], base)
            if found[-1].accepted:
                break
        return found

    def _new(self, changes: Sequence[Policy] | Iterator[Policy], base: Verdict | None) -> Iterator[Policy]:
        """The policies with these changes that history lets through."""
        for change in changes:
            wanted = base.policy.merged(change) if base else change
            alone = recall_alone(change, self._history(change), self._now) if base else None
            if alone is None and recall(wanted, self._history(wanted), self._now) is None:
                yield wanted

    def _leave_out(self) -> list[Verdict]:
        """The confirmed policy without each of its proposals, which does half its work: the harder case."""
        whole = next((v for v in self.verdicts if self.chain and v.id == self.chain[-1].verdict_id), None)
        found = confirmation(self.chain[-1], self.verdicts) if whole is not None else None
        if whole is None or found is None or found.state != "confirmed" or in_force(self.chain) != whole.policy:
            return []
        told = {v.policy for v in self.verdicts if v.leaves_out and v.stamp.later_than(whole.stamp)}
        rests = [rest for rest in left_out(whole.policy, [v.policy for v in self.verdicts]) if rest not in told]
        tasks = self.true(whole.policy).tasks // 2
        truths = {rest: replace(self.true(rest), tasks=tasks) for rest in rests}
        return self._race(rests, whole, "leave_out", truths, _LEAVING_OUT) if rests else []

    def _race(
        self,
        planned: Sequence[Policy],
        base: Verdict | None,
        purpose: Purpose = "add",
        truths: Mapping[Policy, Truth] | None = None,
        rules: Rules | None = None,
    ) -> list[Verdict]:
        """Verdicts on all that was planned, also on what need not run. Against original where there is no base."""
        before = self.true(base.policy) if base else BASELINE
        truths = truths or {policy: self.true(policy) for policy in planned}
        budget = budget_left(self.verdicts, "cql")
        ran = race(truths, self.noise, self.objective, budget, self.draw, before, rules or Rules())
        kept = []
        for tried in (*ran, *_not_run(planned, ran)):
            self.executions += tried.executions
            kept.append(self._keep(tried.after(base.gain) if base else tried, purpose if base else "try"))
        self.wrong += [v for v in kept if v.accepted and self._cost(truths[v.policy]) >= self._cost(before)]
        return kept

    def _cost(self, truth: Truth) -> float:
        return {"cpu": truth.cpu, "latency": truth.wall, "bytes": truth.bytes}[self.objective]


def _planned(proposed: Sequence[Proposed], outcomes: Mapping[str, str]) -> list[Policy]:
    """What replan plans next: singles, and the combination of those that are kept or were accepted."""
    singles = [policy for policy, _ in next_singles(proposed, outcomes)]
    both = combination(proposed, {**outcomes, **{policy.id: "kept" for policy in singles}})
    return [*singles, *([both[0]] if both else [])]


def _changes(base: Policy, knobs: Sequence[str], number: int) -> Iterator[Policy]:
    """Values of the first of these knobs that the base does not set."""
    taken = dict(base.settings)
    knob = next((name for name in knobs if name not in taken), None)
    if knob is not None:
        yield from (Policy.of({knob: str(n + 1 << 20 if knob in _ADDITIONS else n + 300)}) for n in range(number))


def _not_run(planned: Sequence[Policy], ran: Sequence[Tried]) -> Iterator[Tried]:
    """With the reason, by which history knows it. Its first run is not counted, as elsewhere in the simulation."""
    settled = {t.policy for t in ran}
    for policy in planned:
        if policy not in settled:
            reason = next(filter(None, (not_needed(Arm(policy), Arm(t.policy), t.judgement) for t in ran)))
            yield Tried(policy, unmeasured("inconclusive", reason), 0)


def _same(one: Verdict | None, other: Verdict | None) -> bool:
    return (one.policy if one else ORIGINAL) == (other.policy if other else ORIGINAL)
