"""The real promote stage and a person's commands, in any order, killed anywhere: what must always hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from planopt_assets.errors import PlanoptError, PromotionConflict
from planopt_assets.loop.by_person import pin, rollback, unpin
from planopt_assets.loop.stages.promote import promote
from planopt_assets.loop.verdict_gates import not_regressed
from planopt_assets.model.ids import content_id
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import in_force
from planopt_assets.promote.transitions import Expire, Revert, Target, next_generation
from planopt_assets.store.codecs.deciding import VERDICTS
from planopt_tests.promote.events import A, B, C, verdict_of
from planopt_tests.promote.memory_store import Killed, Memory, MemoryRun, Mode, written_to
from planopt_tests.rows import stored

POLICIES = st.sampled_from([A, B, C])
DEATHS = st.one_of(st.none(), st.integers(0, 3))  # writes a process makes before it dies
MODES = st.sampled_from(["auto", "advise"])


class Promotions(RuleBasedStateMachine):
    """Propose, judge, promote, pin, revert, expire, crash; the store is in memory, the code is the real one."""

    @initialize()
    def empty(self) -> None:
        self.memory = Memory()
        self.by_hand: set[int] = set()

    # What happens outside

    @rule(policy=POLICIES, outcome=st.sampled_from(["accept", "accept", "reject", "inconclusive"]), dies=DEATHS)
    def judge(self, policy: Policy, outcome: str, dies: int | None) -> None:
        """Trials first, then their verdict; a candidate that has one is not tried again."""
        candidate = content_id("can", [policy.content, self.memory.inputs])
        if any(v["candidate_id"] == candidate for v in self.memory.rows("verdicts")):
            return
        self.memory.runs += 1
        number = self.memory.runs
        given = {"outcome": outcome, "candidate_id": candidate, "input_fingerprint": self.memory.inputs}
        row = VERDICTS.to_row(verdict_of(policy, number, **given))
        with written_to(self.memory, dies), suppress(Killed):
            self.memory.write("trials", [stored("trials", policy_id=policy.id)], f"run-{number}:validate", 1)
            self.memory.write("verdicts", [row], f"run-{number}:validate", 1)

    @rule()
    def tables_change(self) -> None:
        self.memory.inputs = f"inp_{int(self.memory.inputs[4:]) + 1}"

    @precondition(lambda self: in_force(self.memory.chain) != ORIGINAL and not self.memory.chain[-1].fixed)
    @rule(expires=st.booleans())
    def watch_finds(self, expires: bool) -> None:
        policy = in_force(self.memory.chain).id
        known = tuple(v["verdict_id"] for v in self.memory.rows("verdicts") if v["policy_id"] == policy)
        event = Expire("engine", known) if expires else Revert("last_good", "worse", None, known)
        self.memory.found = (len(self.memory.chain), event)

    # What planopt does

    @rule(mode=MODES, dies=DEATHS)
    def loop(self, mode: Mode, dies: int | None) -> None:
        self._killed_and_run_again(lambda memory: promote(MemoryRun(memory, mode), ["q"]), dies)
        assert self.memory.standing(mode).due is None
        assert mode == "advise" or self.memory.standing(mode).to_promote is None
        self._lineage_is_whole()

    @rule(dies=DEATHS)
    def promote_by_hand(self, dies: int | None) -> None:
        before = len(self.memory.chain)
        self._killed_and_run_again(lambda memory: promote(MemoryRun(memory, by_hand=True), ["q"]), dies)
        self.by_hand |= set(range(before + 1, len(self.memory.chain) + 1))

    @rule(policy=st.one_of(POLICIES, st.just(ORIGINAL)), dies=DEATHS)
    def person_pins(self, policy: Policy, dies: int | None) -> None:
        def pinned(memory: Memory) -> None:
            known = None if policy != ORIGINAL else "original"
            run = MemoryRun(memory, by_hand=True)
            pin(run, "q", settings=dict(policy.settings), policy_id=known, reason="mine", who="ada")

        self._killed_and_run_again(pinned, dies)
        assert (self.memory.chain[-1].policy, self.memory.chain[-1].state) == (policy, "fixed")

    @rule(dies=DEATHS)
    def person_unpins(self, dies: int | None) -> None:
        self._killed_and_run_again(lambda m: unpin(MemoryRun(m, by_hand=True), "q", reason="", who="ada"), dies)
        assert not self.memory.chain or not self.memory.chain[-1].fixed

    @rule(to=st.sampled_from(["last_good", "original"]))
    def person_rolls_back(self, to: Target) -> None:
        before = in_force(self.memory.chain)
        with written_to(self.memory):
            result = rollback(MemoryRun(self.memory, by_hand=True), "q", to=to, reason="", who="ada")
        assert result.changed == (before != ORIGINAL)
        assert in_force(self.memory.chain) != before or before == ORIGINAL

    @rule(mode=MODES, first_pins=st.booleans())
    def two_at_once(self, mode: Mode, first_pins: bool) -> None:
        """Both have read the store; the second one to write finds that it is not its own row, and says so."""
        stale, before = self.memory.standing(mode), len(self.memory.chain)
        with written_to(self.memory):
            if first_pins:
                pin(MemoryRun(self.memory), "q", settings=dict(A.settings), policy_id=None, reason="", who="ada")
            else:
                promote(MemoryRun(self.memory, mode), ["q"])
            written = len(self.memory.chain)
            said = _ends(lambda memory: promote(MemoryRun(memory, mode, stale=stale), ["q"]), self.memory)
        assert said in ("", PromotionConflict.code)
        assert (len(self.memory.chain) == written) or (said == "" and written == before)
        wanted = stale.due is not None or (mode == "auto" and stale.to_promote is not None)
        assert (said == PromotionConflict.code) == (wanted and written > before)

    # What must always hold

    @invariant()
    def the_chain_is_whole(self) -> None:
        assert [p.generation for p in self.memory.chain] == list(range(1, len(self.memory.chain) + 1))

    @invariant()
    def original_can_always_be_reached(self) -> None:
        chain = self.memory.chain
        if in_force(chain) != ORIGINAL:
            assert next_generation("demo", "q", chain, Revert("original", "", "ada")).policy == ORIGINAL

    @invariant()
    def automation_never_overrides_a_person(self) -> None:
        assert all(after.who is not None for before, after in pairwise(self.memory.chain) if before.fixed)

    @invariant()
    def nothing_is_in_force_without_a_verdict_or_a_person(self) -> None:
        proven = {
            (v["verdict_id"], v["policy_id"])
            for v in self.memory.rows("verdicts")
            if v["outcome"] == "accept" and v["results_equal"] is True
        }
        for p in self.memory.chain:
            by_person = p.state == "fixed" and p.who is not None
            assert p.policy == ORIGINAL or by_person or (p.verdict_id, p.policy.id) in proven, p
        gate = not_regressed(self.memory.standing("auto"))
        assert gate.passed or self.memory.found is not None or not gate.severe

    @invariant()
    def automation_promotes_by_a_verdict_exactly_once(self) -> None:
        by_automation = [
            p.verdict_id
            for p in self.memory.chain
            if p.state == "accepted" and p.restores is None and p.generation not in self.by_hand
        ]
        assert max(Counter(by_automation).values(), default=1) == 1

    def _killed_and_run_again(self, work: Callable[[Memory], object], dies: int | None) -> None:
        """Killed before any write and started again, it ends where it would have ended."""
        undisturbed = self.memory.copied()
        with written_to(undisturbed):
            expected = _ends(work, undisturbed)
        with written_to(self.memory, dies), suppress(Killed):
            _ends(work, self.memory)
        with written_to(self.memory):
            again = _ends(work, self.memory)
        assert [p.chain_hash for p in self.memory.chain] == [p.chain_hash for p in undisturbed.chain]
        assert again == expected or expected == ""

    def _lineage_is_whole(self) -> None:
        edges = Counter((e["child_id"], e["parent_id"]) for e in self.memory.rows("lineage"))
        assert {p.id for p in self.memory.chain} == {child for child, _ in edges}
        assert set(edges.values()) <= {1}


def _ends(work: Callable[[Memory], object], memory: Memory) -> str:
    """The code of a refusal, or nothing."""
    try:
        work(memory)
    except PlanoptError as refusal:
        return refusal.code
    return ""


TestPromotions = pytest.mark.fast(Promotions.TestCase)
TestPromotions.settings = settings(deadline=None, max_examples=150, stateful_step_count=25)
