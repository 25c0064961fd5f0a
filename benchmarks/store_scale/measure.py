"""Commands of one or two checkouts of planopt on one store, each run in a fresh process, interleaved."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.store_scale import one_run

COMMANDS: dict[str, tuple[str, ...]] = {
    "status": ("status",),
    "plan": ("plan",),
    "check": ("check",),
    "report": ("report",),
    "why": ("why", "q0000"),
    "run": ("run",),
}
METRICS = ("wall_s", "cpu_s", "peak_mib")


class CommandFailed(Exception):
    """A command did not do what it does on a settled store."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Medians over rounds of one command of one checkout."""

    command: str
    tree: str
    wall_s: float
    cpu_s: float
    peak_mib: float
    rounds: int


def measured(
    file: Path, trees: Mapping[str, Path], rounds: int, commands: Sequence[str] = tuple(COMMANDS)
) -> list[Cost]:
    """Every command of every checkout, once per round; the order of the checkouts is drawn each time."""
    for name, tree in trees.items():
        _warm_up(file, name, tree, commands)
    seen: dict[tuple[str, str], list[dict[str, Any]]] = {(c, t): [] for c in commands for t in trees}
    for number in range(rounds):
        for command in commands:
            order = list(trees)
            random.Random(f"{command}/{number}").shuffle(order)
            for name in order:
                seen[command, name].append(_cost(file, trees[name], COMMANDS[command]))
    return [
        Cost(command, name, rounds=rounds, **{m: statistics.median(one[m] for one in runs) for m in METRICS})
        for (command, name), runs in seen.items()
    ]


def ratios(costs: Sequence[Cost], tree: str, to: str) -> list[dict[str, Any]]:
    """Per command, what one checkout costs in units of the other."""
    by = {(c.command, c.tree): c for c in costs}
    return [
        {"command": command, **{m: getattr(by[command, tree], m) / getattr(by[command, to], m) for m in METRICS}}
        for command in dict.fromkeys(c.command for c in costs)
    ]


def _warm_up(file: Path, name: str, tree: Path, commands: Sequence[str]) -> None:
    """Compile the modules, and let `run` compact what it would compact; never start Spark by accident.

    A checkout with other versions of its rules or its judge sees changed inputs: there `run` would work for hours.
    """
    agenda = json.loads(_cost(file, tree, ("plan", "--json"))["output"])
    if not agenda["nothing_to_do"]:
        raise CommandFailed(
            f"{name} ({tree}) finds work to do on this store: its versions are not those it was made for"
        )
    if "run" in commands:
        _cost(file, tree, COMMANDS["run"])


def _cost(file: Path, tree: Path, command: Sequence[str]) -> dict[str, Any]:
    """What a command cost; anything but exit code 0 ends the measurement."""
    words = [sys.executable, "-m", "planopt_assets.cli", *command, "-w", str(file)]
    # An installed planopt has compiled modules; those of a checkout are compiled by the warm-up.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-I", one_run.__file__, *words],
        cwd=file.parent,
        env={**environment, "PYTHONPATH": str(tree.resolve())},
        capture_output=True,
        text=True,
        check=True,
    )
    cost: dict[str, Any] = json.loads(done.stdout)
    if cost["exit_code"] != 0:
        raise CommandFailed(
            f"`planopt {' '.join(command)}` of {tree} ended with {cost['exit_code']}: {cost['error'][-2000:]}"
        )
    return cost
